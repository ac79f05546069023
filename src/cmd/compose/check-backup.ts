// What a backup says is looked at before anything is stopped or changed for it: a server does not start from what is no object.
import type { Backup, BackupEntry } from '../../storage/backup/backup-format.ts';
import { isSealed } from '../../storage/encryption/sealed-forms.ts';

export function checkBackup(backup: Backup): void {
  checkNames(backup);
  for (const entry of backup.entries) {
    const fault = faultOf(entry);
    if (fault !== undefined) throw new Error(`the backup is damaged: ${entry.key} ${fault}`);
  }
}

function checkNames({ files }: Backup): void {
  const names = new Set(files.map(({ name }) => name));
  for (const { name } of files) {
    const folders = name.split('/').map((_, i, parts) => parts.slice(0, i).join('/'));
    if (
      !/^pki\/[a-z0-9][a-z0-9./-]*$/.test(name) ||
      name.includes('..') ||
      folders.some((folder) => names.has(folder))
    )
      throw new Error(`the backup names a file that is none of a server's: ${JSON.stringify(name)}`);
  }
}

type Fields = Readonly<Record<string, unknown>>;

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isTexts = (value: unknown): boolean =>
  value === undefined || (isFields(value) && Object.values(value).every((one) => typeof one === 'string'));

/** Of its metadata, which every part of the server reads without asking; what else it says is for its kind to judge. */
function faultOf({ value }: BackupEntry): string | undefined {
  // Only the server that has its key can look into it; what it can't open it leaves out.
  if (isSealed(value)) return undefined;
  const object = read(value);
  if (!isFields(object)) return 'is no object';
  const { metadata } = object;
  for (const field of ['apiVersion', 'kind'])
    if (typeof object[field] !== 'string' || object[field] === '') return `has no ${field}`;
  if (!isFields(metadata)) return 'has no metadata';
  if (typeof metadata['name'] !== 'string' || metadata['name'] === '') return 'has no name';
  for (const field of ['namespace', 'uid', 'creationTimestamp', 'deletionTimestamp'])
    if (!['string', 'undefined'].includes(typeof metadata[field])) return `has a ${field} that is no text`;
  for (const field of ['labels', 'annotations'])
    if (!isTexts(metadata[field])) return `has ${field} that are no texts`;
  for (const field of ['ownerReferences', 'finalizers', 'managedFields'])
    if (metadata[field] !== undefined && !Array.isArray(metadata[field]))
      return `has ${field} that are no list`;
  return undefined;
}

function read(value: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(value.buffer, value.byteOffset, value.length).toString());
  } catch {
    return undefined;
  }
}
