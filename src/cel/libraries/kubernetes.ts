// The environment of Kubernetes 1.36: every library that its rules and policies have, and how the language is set.
import type { Library } from '../declarations.ts';
import { Environment, languageLibraries } from '../environment.ts';
import { authzLibrary } from './authz.ts';
import { cidrLibrary } from './cidr.ts';
import { extendedListsLibrary } from './extended-lists.ts';
import { formatLibrary } from './format.ts';
import { ipLibrary } from './ip.ts';
import { listsLibrary } from './lists.ts';
import { quantityLibrary } from './quantity.ts';
import { regexLibrary } from './regex.ts';
import { semverLibrary } from './semver.ts';
import { setsLibrary } from './sets.ts';
import { stringsLibrary } from './strings.ts';
import { urlLibrary } from './url.ts';

const libraries: readonly Library[] = [
  urlLibrary,
  regexLibrary,
  listsLibrary,
  authzLibrary,
  ...languageLibraries,
  quantityLibrary,
  stringsLibrary,
  setsLibrary,
  ipLibrary,
  cidrLibrary,
  formatLibrary,
  semverLibrary,
  extendedListsLibrary,
];

/** Made once; those who have variables extend it. */
export const kubernetesEnvironment: Environment = new Environment({
  libraries,
  validated: true,
});
