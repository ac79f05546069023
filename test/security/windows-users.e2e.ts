// Emulated Windows pods as users of their own, in each of the ways that a kernel may allow.
import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import {
  startWindowsRuntime,
  type TestContainer,
  type TestSandbox,
  type WindowsRuntime,
} from '../harness/windows-runtime.ts';
import { emptyImage, programsImage } from '../harness/windows-test-images.ts';

const kernels = [
  { what: 'with user namespaces', kernel: { ownsFiles: true, namespace: true } },
  { what: 'without user namespaces for containers', kernel: { ownsFiles: true, namespace: false } },
  { what: 'without user namespaces at all', kernel: { ownsFiles: false, namespace: false } },
];

for (const { what, kernel } of kernels) {
  describe(`Windows pods ${what}`, () => {
    let runtime: WindowsRuntime;
    const pods: TestSandbox[] = [];
    const shells: TestContainer[] = [];
    let volume: string;

    before(async () => {
      runtime = await startWindowsRuntime(20348, kernel);
      const image = await programsImage();
      await runtime.load(image);
      await runtime.load(await emptyImage());
      volume = join(runtime.directory, 'shared');
      mkdirSync(volume, { mode: 0o777 });
      // As the kubelet makes them: open to all, whatever the umask of whoever runs this.
      chmodSync(volume, 0o777);
      for (const name of ['first', 'second']) {
        const pod = await runtime.sandbox(name);
        pods.push(pod);
        const shell = await pod.container('shell', {
          image: image.reference,
          command: ['ping', '-t', 'localhost'],
          mounts: [{ hostPath: volume, containerPath: 'C:\\shared' }],
        });
        shells.push(shell);
        await shell.start();
      }
    });
    after(async () => {
      for (const pod of pods) await pod.remove();
      await runtime?.close();
    });
    const run = (pod: number, command: string): Promise<{ stdout: string; code: number }> =>
      shells[pod]!.exec('cmd', '/c', command);

    test(`a file that one pod wrote is read, changed and deleted by the next (${what})`, async () => {
      assert.equal((await run(0, 'echo one> C:\\shared\\a.txt')).code, 0);
      assert.equal((await run(1, 'echo two>> C:\\shared\\a.txt')).code, 0);
      assert.match((await run(0, 'type C:\\shared\\a.txt')).stdout, /one\s+two/);
      assert.equal((await run(1, 'mkdir C:\\shared\\deep && echo x> C:\\shared\\deep\\x.txt')).code, 0);
      assert.equal((await run(0, 'rmdir /s /q C:\\shared\\deep && del C:\\shared\\a.txt')).code, 0);
      if (kernel.ownsFiles) {
        await run(0, 'echo x> C:\\shared\\root.txt');
        assert.equal(statSync(join(volume, 'root.txt')).uid, 0);
      }
    });

    test(`home, temporary folder and registry are the pod's (${what})`, async () => {
      assert.equal((await run(0, 'echo x> %TEMP%\\x.txt && type %TEMP%\\x.txt')).code, 0);
      assert.equal((await run(0, 'reg add HKCU\\Software\\Test /v a /d 1 /f')).code, 0);
      assert.match((await run(0, 'reg query HKCU\\Software\\Test')).stdout, /a\s+REG_SZ\s+1/);
    });

    // Without an owner that can be shown, what the image brought is as its modes say.
    if (kernel.ownsFiles) {
      test(`an image's files can be changed, as on Windows (${what})`, async () => {
        await run(0, 'echo more>> C:\\Windows\\acme.ini');
        assert.match((await run(0, 'type C:\\Windows\\acme.ini')).stdout, /acme\]\s*more/);
      });
    }

    test(`a program reports all 32 bits of its end (${what})`, async () => {
      const container = await pods[1]!.container('code', {
        image: 'porthole.local/test/empty-windows:1',
        command: ['cmd', '/c', 'exit', '-1073741510'],
      });
      await container.start();
      assert.equal((await container.ended()).full, -1073741510);
      await container.remove();
    });

    test(`containers of a pod are one user, pods are two (${what})`, () => {
      const state = join(runtime.directory, 'handler');
      const users = pods.map((pod) => readFileSync(join(state, 'pods', pod.id), 'utf8').trim());
      assert.deepEqual(users, ['0', '1']);
    });
  });
}
