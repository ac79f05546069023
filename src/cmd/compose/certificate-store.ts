// A node's certificates as kubelet keeps them: dated files with certificate and key, and a link to the one in use.
import { readdirSync, readFileSync, readlinkSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolderDurably, renameDurably, writeDurably } from '../../component-base/durable-file.ts';
import type { CertificateStore } from '../../kubelet/certificates/certificate-manager.ts';

export type NodeCertificate = 'kubelet-client' | 'kubelet-server';

/** The link that always leads to the certificate in use. */
export const currentCertificate = (directory: string, name: NodeCertificate): string =>
  join(directory, `${name}-current.pem`);

/** Older ones than these are removed. */
const kept = 2;

export function certificateStore(
  directory: string,
  name: NodeCertificate,
  clock: { now(): number },
): CertificateStore {
  const link = currentCertificate(directory, name);
  const isDated = (file: string): boolean =>
    file.startsWith(`${name}-`) && file.endsWith('.pem') && !file.endsWith('-current.pem');
  return {
    current: () => {
      try {
        return readFileSync(link, 'utf8');
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
        throw error;
      }
    },
    replace: (pem) => {
      makeFolderDurably(directory);
      const date = new Date(clock.now()).toISOString().replace(/[T:.]/g, '-').replace('Z', '');
      const file = `${name}-${date}.pem`;
      writeDurably(join(directory, file), pem);
      rmSync(`${link}.new`, { force: true });
      symlinkSync(file, `${link}.new`);
      renameDurably(`${link}.new`, link);
      const inUse = readlinkSync(link);
      for (const old of readdirSync(directory).filter(isDated).sort().slice(0, -kept))
        if (old !== inUse) rmSync(join(directory, old), { force: true });
    },
  };
}
