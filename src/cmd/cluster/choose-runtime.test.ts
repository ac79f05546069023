// Which runtime a machine gets: containers where root can have them, simulated ones elsewhere, and why.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chooseRuntime, type MachineFacts, type RuntimeChoice } from './choose-runtime.ts';

const containerd = { name: 'containerd', provides: 'containerd', why: 'runs containers' };
const root: MachineFacts = { platform: 'linux', isRoot: true, hasApt: true, missing: [containerd] };
const runtimeOf = (choice: RuntimeChoice): string | undefined =>
  'runtime' in choice ? choice.runtime : undefined;

test('root with apt gets real containers, missing packages are installed', () => {
  assert.equal(runtimeOf(chooseRuntime('auto', root)), 'containerd');
});

test('without root, auto falls back to the simulated runtime and says why', () => {
  const choice = chooseRuntime('auto', { ...root, isRoot: false });
  assert.deepEqual(choice, {
    runtime: 'simulated',
    why: 'containers need root (namespaces, cgroups, mounts), and you are not root. Pods are state machines and nothing runs',
  });
});

test('asking for containerd where it cannot run is an error with the way out', () => {
  const choice = chooseRuntime('containerd', { ...root, hasApt: false });
  assert.deepEqual(choice, {
    error:
      '--runtime containerd: missing: containerd, and there is no apt-get to install them; --runtime simulated needs only Node',
  });
});

test('simulated is given where it is asked for, also to root', () => {
  assert.equal(runtimeOf(chooseRuntime('simulated', root)), 'simulated');
});
