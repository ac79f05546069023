// The program that containerd's shim calls instead of runc: native/linux/runc-front.sh, and what it reads beside itself.
import { chmod, copyFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { maxExitCodeBytes } from './exit-code.ts';
import { mountPlanFile } from './wine-bundle.ts';
import { confine, ctrl, wine } from './wine-paths.ts';

export interface FrontOptions {
  readonly runc: string;
  readonly node: string;
  /** The bundled handler-main. */
  readonly handlerMain: string;
  readonly configFile: string;
  /** The compiled windows-mounts. */
  readonly mountsProgram: string;
}

/** A line for each; the front takes a line as it is, so nothing in it is the shell's. */
function settingsText(settings: Readonly<Record<string, string>>): string {
  const lines = Object.entries(settings).map(([name, value]) => `${name}=${value}`);
  const broken = lines.find((line) => /[\n\0]/.test(line));
  if (broken !== undefined) throw new Error(`${JSON.stringify(broken)} is more than a line`);
  return lines.map((line) => `${line}\n`).join('');
}

/** Returns the path of the front. It finds the state of its containers in the folder where it lies. */
export async function installRuncFront(
  stateDir: string,
  nativeDir: string,
  options: FrontOptions,
): Promise<string> {
  const settings = join(stateDir, 'front-settings');
  const front = join(stateDir, 'runc-windows');
  const { runc, node, handlerMain: main, configFile: config, mountsProgram: mounts } = options;
  const [plan, codebytes] = [mountPlanFile, String(maxExitCodeBytes)];
  const text = settingsText({ runc, node, main, config, mounts, plan, confine, wine, ctrl, codebytes });
  // Written beside and renamed: a shim may be starting it at this moment.
  await writeFile(`${settings}.new`, text);
  await rename(`${settings}.new`, settings);
  await copyFile(join(nativeDir, 'linux/runc-front.sh'), `${front}.new`);
  await chmod(`${front}.new`, 0o755);
  await rename(`${front}.new`, front);
  return front;
}
