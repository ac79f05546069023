// What the configuration lets through to a runtime handler.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { containerdConfig } from './containerd-config.ts';

const options = {
  root: '/r',
  state: '/s',
  address: '/a',
  cniBinDir: '/b',
  cniConfDir: '/c',
  sandboxImage: 'pause',
  runtimeHandlers: { 'runhcs-wcow-process': '/w' },
};

for (const version of ['1.6.20', 'v2.0.1']) {
  test(`of annotations the handlers of containerd ${version} get the kubelet's of a container, and none of a pod`, () => {
    const lines = containerdConfig(options, version).split('\n');
    const passed = new Set(lines.map((line) => line.trim()).filter((line) => /_annotations\b/.test(line)));
    assert.deepEqual([...passed], ['container_annotations = ["porthole.dev/*"]']);
  });
}
