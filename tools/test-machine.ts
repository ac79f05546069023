// What e2e tests need on this machine, installed by the set-up of the tests.

import { ensureKubectl, ensureOldKubectl } from '../src/cmd/setup/kubectl.ts';
import { portholeCache } from '../src/cmd/setup/locations.ts';
import {
  ensureSystemPackages,
  linuxNodePackages,
  windowsNodePackages,
} from '../src/cmd/setup/system-packages.ts';
import { linuxProcesses } from '../src/os/linux/processes-linux.ts';
import { prepareWindowsTests } from '../test/harness/windows-test-images.ts';

const say = (text: string): void => console.log(`   ${text} …`);

/** Throws with the next step when something can't be installed. */
export async function prepareTestMachine(): Promise<void> {
  await ensureSystemPackages(linuxProcesses, [...linuxNodePackages, ...windowsNodePackages], say);
  await ensureKubectl(linuxProcesses, portholeCache(), say);
  await ensureOldKubectl(linuxProcesses, portholeCache(), say);
  await prepareWindowsTests(say);
}
