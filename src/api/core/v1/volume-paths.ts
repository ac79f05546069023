// Paths of volumes and of files in them, which stay below the folder that they are in, and the files' modes.
import { invalid } from '../../../apimachinery/field-error.ts';
import type { Errors } from '../../../apimachinery/validation/checks.ts';

/** Upstream's server, on Linux, looks at slashes only; here the other system's nodes are no afterthought. */
export const backsteps = (path: string): boolean => path.split(/[/\\]/).includes('..');
export const noBacksteps = (field: string, path: string): Errors =>
  backsteps(path) ? [invalid(field, path, "must not contain '..'")] : [];

/** A path that stays below the folder it is in. */
export const localDescendingPath = (field: string, path: string): Errors => [
  ...(path.startsWith('/') ? [invalid(field, path, 'must be a relative path')] : []),
  ...noBacksteps(field, path),
];

/** And that is none of those which the kubelet writes itself: `..data`. */
export const nonReserved = (field: string, path: string): Errors => [
  ...localDescendingPath(field, path),
  ...(path.startsWith('..') && !path.startsWith('../')
    ? [invalid(field, path, "must not start with '..'")]
    : []),
];

export const modeErrors = (field: string, mode = 0): Errors =>
  mode < 0 || mode > 0o777
    ? [invalid(field, mode, 'must be a number between 0 and 0777 (octal), both inclusive')]
    : [];
