// A node's certificates as kubelet keeps them: dated files with certificate and key, and a link to the one in use.
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
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
      mkdirSync(directory, { recursive: true, mode: 0o700 });
      const date = new Date(clock.now()).toISOString().replace(/[T:.]/g, '-').replace('Z', '');
      const file = `${name}-${date}.pem`;
      writeFileSync(join(directory, file), pem, { mode: 0o600, flush: true });
      rmSync(`${link}.new`, { force: true });
      symlinkSync(file, `${link}.new`);
      renameSync(`${link}.new`, link);
      const inUse = readlinkSync(link);
      for (const old of readdirSync(directory).filter(isDated).sort().slice(0, -kept))
        if (old !== inUse) rmSync(join(directory, old), { force: true });
    },
  };
}
