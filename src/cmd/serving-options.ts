// kube-apiserver's flags about certificates of files: with which it serves, whom it believes to be kubelets, and as whom it asks others.
import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { type Command, InvalidArgumentError } from 'commander';
import type { KeyPairPem } from '../crypto/certificates.ts';
import { keyPairFault, servingFault } from '../crypto/key-pair.ts';
import { bundleFault, isIssuedBy } from '../crypto/subject.ts';
import type { BroughtCredentials, NotTaken } from './compose/brought-credentials.ts';
import { ofFlag } from './compose/of-flag.ts';

/** Of --tls-sni-cert-key. */
export interface NamedFiles {
  readonly certFile: string;
  readonly keyFile: string;
  readonly names: readonly string[];
}

/** `cert,key` or `cert,key:name,name`. Throws in upstream's words. */
function namedFilesOf(text: string): NamedFiles {
  const colon = text.indexOf(':');
  const names = colon < 0 ? [] : text.slice(colon + 1).split(',');
  if (colon >= 0 && text.slice(colon + 1).trim() === '') throw new Error('empty names list is not allowed');
  const files = (colon < 0 ? text : text.slice(0, colon)).split(',');
  if (files.length !== 2) throw new Error('expected comma separated certificate and key file paths');
  return {
    certFile: files[0]!.trim(),
    keyFile: files[1]!.trim(),
    names: names.map((name) => name.trim()),
  };
}

/** The text of it again, with other names of its files. */
export function relocated(text: string, located: (file: string) => string): string {
  const { certFile, keyFile, names } = namedFilesOf(text);
  return `${located(certFile)},${located(keyFile)}${names.length === 0 ? '' : `:${names.join(',')}`}`;
}

function namedFiles(text: string, before: readonly NamedFiles[] = []): NamedFiles[] {
  try {
    return [...before, namedFilesOf(text)];
  } catch (error) {
    throw new InvalidArgumentError((error as Error).message);
  }
}

/** How its value is written: two files and perhaps names. */
export const namedFilesForm = '<cert,key[:names]>';

export const withServingFiles = (command: Command): Command =>
  command
    .option(
      '--tls-cert-file <file>',
      "certificate to serve in the place of the server's own, with those that lead to its authority; read again when it changes",
    )
    .option('--tls-private-key-file <file>', 'its key')
    .option(
      `--tls-sni-cert-key ${namedFilesForm}`,
      'certificate and key for clients who ask for these names, or for those of the certificate; may be given again',
      namedFiles,
    );

/** Upstream has them among the rest. */
export const withKubeletFiles = (command: Command): Command =>
  command
    .option(
      '--kubelet-certificate-authority <file>',
      "vouches for kubelets besides the server's own authority; read again when it changes",
    )
    .option(
      '--kubelet-client-certificate <file>',
      'as whom the server asks kubelets, in the place of its own certificate; read again when it changes',
    )
    .option('--kubelet-client-key <file>', 'its key');

export const withRootCa = (command: Command): Command =>
  command.option(
    '--root-ca-file <file>',
    "vouches for --tls-cert-file besides the server's own authority: goes to kubeconfigs and to every namespace's kube-root-ca.crt",
  );

export interface ServingFlags {
  readonly tlsCertFile?: string;
  readonly tlsPrivateKeyFile?: string;
  readonly tlsSniCertKey?: readonly NamedFiles[];
  readonly kubeletCertificateAuthority?: string;
  readonly kubeletClientCertificate?: string;
  readonly kubeletClientKey?: string;
  readonly proxyClientCertFile?: string;
  readonly proxyClientKeyFile?: string;
  readonly rootCaFile?: string;
}

/** What was read last that could be used; at first there is nothing to fall back to. */
function rereading<A extends readonly unknown[], T>(
  read: (...args: A) => T,
): (...args: [...A, NotTaken]) => T {
  let last: { readonly value: T } | undefined;
  return (...args) => {
    const notTaken = args.at(-1) as NotTaken;
    try {
      last = { value: read(...(args.slice(0, -1) as unknown as A)) };
    } catch (error) {
      if (last === undefined) throw error;
      notTaken(error);
    }
    return last.value;
  };
}

/** By which flags a certificate and its key are named. */
interface PairFlags {
  readonly cert: string;
  readonly key: string;
}

function readPair({ cert, key }: PairFlags, certFile: string, keyFile: string): KeyPairPem {
  if (certFile === '' || keyFile === '') throw new Error(`--${cert}: missing filename for serving cert`);
  const read = (flag: string, file: string): string => ofFlag(flag, file, () => readFileSync(file, 'utf8'));
  const pair = { certificatePem: read(cert, certFile), privateKeyPem: read(key, keyFile) };
  return ofFlag(cert, certFile, () => {
    if (pair.certificatePem === '' || pair.privateKeyPem === '')
      throw new Error(`missing content for serving cert "serving-cert::${certFile}::${keyFile}"`);
    const fault = keyPairFault(pair);
    if (fault !== undefined) throw new Error(fault);
    checkUsable(pair);
    return pair;
  });
}

/** What Go takes may be too weak for OpenSSL, which would say so when the first connection wants it. */
function checkUsable({ certificatePem: cert, privateKeyPem: key }: KeyPairPem): void {
  try {
    createSecureContext({ cert, key });
  } catch (cause) {
    const { reason, message } = cause as Error & { readonly reason?: string };
    throw new Error(`tls: OpenSSL takes no such pair: ${reason ?? message}`, { cause });
  }
}

const pairFlags = {
  serving: { cert: 'tls-cert-file', key: 'tls-private-key-file' },
  named: { cert: 'tls-sni-cert-key', key: 'tls-sni-cert-key' },
  kubeletClient: { cert: 'kubelet-client-certificate', key: 'kubelet-client-key' },
  frontProxyClient: { cert: 'proxy-client-cert-file', key: 'proxy-client-key-file' },
} as const;

const whoWouldNot =
  'kubeconfigs, nodes and pods of this cluster would not believe it. --root-ca-file names its authority to them; for clients who ask for another name there is --tls-sni-cert-key';

function servingOf(flags: ServingFlags, now: () => number): BroughtCredentials['serving'] {
  const { tlsCertFile: certFile, tlsPrivateKeyFile: keyFile } = flags;
  if (certFile === undefined && keyFile === undefined) return undefined;
  return rereading((names, believed: string) => {
    const pair = readPair(pairFlags.serving, certFile ?? '', keyFile ?? '');
    const fault = servingFault(pair.certificatePem, {
      authoritiesPem: believed,
      ips: names.needed ?? [],
      now: now(),
    });
    if (fault !== undefined) throw new Error(`--tls-cert-file ${certFile}: ${fault}: ${whoWouldNot}`);
    return pair;
  });
}

function namedOf({ tlsSniCertKey: all }: ServingFlags): BroughtCredentials['named'] {
  if (all === undefined) return undefined;
  const each = all.map(({ certFile, keyFile, names }) =>
    rereading(() => {
      const { certificatePem, privateKeyPem } = readPair(pairFlags.named, certFile, keyFile);
      return { cert: certificatePem, key: privateKeyPem, names };
    }),
  );
  return (notTaken) => each.map((one) => one(notTaken));
}

function kubeletClientOf(flags: ServingFlags): BroughtCredentials['kubeletClient'] {
  const { kubeletClientCertificate: certFile, kubeletClientKey: keyFile } = flags;
  if (certFile === undefined && keyFile === undefined) return undefined;
  if (certFile === undefined || keyFile === undefined)
    throw new Error('--kubelet-client-certificate and --kubelet-client-key go together');
  return rereading((believed: string) => {
    const pair = readPair(pairFlags.kubeletClient, certFile, keyFile);
    if (!isIssuedBy(pair.certificatePem, believed))
      throw new Error(
        `--kubelet-client-certificate ${certFile}: x509: certificate signed by unknown authority: kubelets of this cluster believe its own authority, pki/ca.crt`,
      );
    return pair;
  });
}

/** As whom other API servers are asked. */
function frontProxyClientOf(flags: ServingFlags): BroughtCredentials['frontProxyClient'] {
  const { proxyClientCertFile: certFile, proxyClientKeyFile: keyFile } = flags;
  if (certFile === undefined && keyFile === undefined) return undefined;
  if (certFile === undefined || keyFile === undefined)
    throw new Error('--proxy-client-cert-file and --proxy-client-key-file go together');
  return rereading(() => readPair(pairFlags.frontProxyClient, certFile, keyFile));
}

function bundleOf(flag: string, file: string): string {
  return ofFlag(flag, file, () => {
    const text = readFileSync(file, 'utf8');
    const fault = bundleFault(text);
    if (fault !== undefined) throw new Error(fault);
    return text;
  });
}

type ServingCredentials = Pick<
  BroughtCredentials,
  'serving' | 'named' | 'rootCaPem' | 'kubeletServingCaPem' | 'kubeletClient' | 'frontProxyClient'
>;

/** Throws for files that are not what their flags say. */
export function servingCredentialsOf(flags: ServingFlags, now: () => number): ServingCredentials {
  const { kubeletCertificateAuthority: kubelets, rootCaFile } = flags;
  return {
    serving: servingOf(flags, now),
    named: namedOf(flags),
    rootCaPem: rootCaFile === undefined ? undefined : bundleOf('root-ca-file', rootCaFile),
    kubeletServingCaPem:
      kubelets === undefined
        ? undefined
        : rereading(() => bundleOf('kubelet-certificate-authority', kubelets)),
    kubeletClient: kubeletClientOf(flags),
    frontProxyClient: frontProxyClientOf(flags),
  };
}
