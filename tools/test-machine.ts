// What e2e tests need on this machine, installed by the set-up of the tests.
import { ensureKubectl, ensureOldKubectl } from '../src/cmd/setup/kubectl.ts';
import { portholeCache } from '../src/cmd/setup/locations.ts';
import {
  ensureSystemPackages,
  linuxNodePackages,
  type SystemPackage,
  windowsNodePackages,
} from '../src/cmd/setup/system-packages.ts';
import { linuxProcesses } from '../src/os/linux/processes-linux.ts';
import { prepareClientGo } from '../test/harness/go-program.ts';
import { prepareWindowsTests } from '../test/harness/windows-test-images.ts';

/** What only tests use. */
const testPackages: readonly SystemPackage[] = [
  {
    name: 'containernetworking-plugins',
    provides: '/usr/lib/cni/bridge',
    why: 'the kubelet is also tested with a network that is not ours',
  },
  {
    name: 'docker-registry',
    provides: 'docker-registry',
    why: 'a private registry to pull from',
  },
  { name: 'faketime', provides: 'faketime', why: 'sets the clock of a server that runs' },
  {
    name: 'python3-kubernetes',
    provides: '/usr/lib/python3/dist-packages/kubernetes/__init__.py',
    why: 'a client library that people use',
  },
  { name: 'fish', provides: 'fish', why: 'completion is tried in it' },
  { name: 'zsh', provides: 'zsh', why: 'completion is tried in it' },
];

const say = (text: string): void => console.log(`   ${text} …`);

const nodePackages = [...linuxNodePackages, ...windowsNodePackages];

/** What nodes of both systems need, and no more: for benchmarks. Throws with the next step when something can't be installed. */
export const prepareNodes = (tell: (text: string) => void): Promise<void> =>
  ensureSystemPackages(linuxProcesses, nodePackages, tell);

/** Throws with the next step when something can't be installed. */
export async function prepareTestMachine(): Promise<void> {
  await ensureSystemPackages(linuxProcesses, [...nodePackages, ...testPackages], say);
  await ensureKubectl(linuxProcesses, portholeCache(), say);
  await ensureOldKubectl(linuxProcesses, portholeCache(), say);
  await Promise.all([prepareWindowsTests(say), prepareClientGo(say)]);
}
