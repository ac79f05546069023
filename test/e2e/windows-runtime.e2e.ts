// Windows programs in real containers: containerd, runc and Wine, driven by CRI.
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { loadImage } from '../../src/images/load-image.ts';
import { linuxProcesses } from '../../src/os/linux/processes-linux.ts';
import { buildNative } from '../../src/os/native-build.ts';
import { eventually } from '../harness/eventually.ts';
import {
  cacheDir,
  startWindowsRuntime,
  type TestContainer,
  type TestSandbox,
  type WindowsRuntime,
} from '../harness/windows-runtime.ts';
import {
  emptyImage,
  linkImage,
  programsImage,
  testBuilds,
  webImage,
} from '../harness/windows-test-images.ts';

let runtime: WindowsRuntime;
let pod: TestSandbox;
let podRemoved = false;
let web: TestContainer;
let shell: TestContainer;
const hostName = 'my-long-pod-name-7d9f8b6c5-x2x4z';
const images = { web: '', programs: '', empty: '' };

const get = (url: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const call = request(url, { agent: false, timeout: 5000 }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (data: string) => {
        text += data;
      });
      response.on('end', () => resolve(text));
    });
    call.on('error', reject);
    call.on('timeout', () => call.destroy(new Error('timeout')));
    call.end();
  });

/** Starts a container that runs one command and waits for its end. */
async function run(command: readonly string[], options: object = {}): ReturnType<typeof runDetailed> {
  return runDetailed(command, options);
}

let counter = 0;
async function runDetailed(
  command: readonly string[],
  options: object,
): Promise<{ output: string; code: number; full: number | undefined; reason: string }> {
  const container = await pod.container(`run-${counter++}`, { image: images.empty, command, ...options });
  await container.start();
  const ended = await container.ended();
  const output = container.log();
  await container.remove();
  return { output, ...ended };
}

before(async () => {
  runtime = await startWindowsRuntime(20348);
  for (const [name, image] of Object.entries({
    web: await webImage(),
    programs: await programsImage(),
    empty: await emptyImage(),
  })) {
    await runtime.load(image);
    images[name as keyof typeof images] = image.reference;
  }
  pod = await runtime.sandbox('main', hostName);
  const volumes = join(runtime.directory, 'volumes');
  mkdirSync(join(volumes, 'config/..2026'), { recursive: true });
  mkdirSync(join(volumes, 'cache'), { recursive: true });
  mkdirSync(join(volumes, 'scratch'), { recursive: true });
  writeFileSync(join(volumes, 'config/..2026/settings.json'), '{"a":1}');
  symlinkSync('..2026', join(volumes, 'config/..data'));
  symlinkSync('..data/settings.json', join(volumes, 'config/settings.json'));
  web = await pod.container('web', {
    image: images.web,
    env: { MESSAGE: 'Grüße aus dem Pod', HOME: 'C:\\home', LANG: 'de', TEMPERATURE: '20' },
    annotations: { 'porthole.dev/run-as-username': 'ContainerUser' },
    mounts: [
      { hostPath: join(volumes, 'config'), containerPath: 'C:\\etc\\foo', readonly: true },
      { hostPath: join(volumes, 'cache'), containerPath: '/cache' },
      { hostPath: join(volumes, 'scratch'), containerPath: 'C:/scratch' },
    ],
  });
  shell = await pod.container('shell', {
    image: images.programs,
    command: ['ping', '-t', 'localhost'],
    mounts: [{ hostPath: join(volumes, 'cache'), containerPath: 'C:\\cache' }],
  });
  await web.start();
  await shell.start();
});
after(async () => {
  if (!podRemoved) await pod?.remove();
  await runtime?.close();
});

const answer = (path: string): Promise<string> => eventually(() => get(`http://${pod.ip}${path}`));

test('a Windows web server answers a Linux process by its pod IP', async () => {
  const about = JSON.parse(await answer('/')) as Record<string, string>;
  assert.equal(about['message'], 'Grüße aus dem Pod');
  assert.equal(about['platform'], 'win32');
  assert.equal(about['release'], '10.0.20348');
  assert.equal(about['version'], 'Windows Server 2022 Datacenter');
  assert.equal(about['hostname'], hostName);
  assert.equal(about['user'], 'ContainerUser');
  assert.equal(about['directory'], 'C:\\app');
});

test("the program's environment is the pod's, not Wine's", async () => {
  const env = JSON.parse(await answer('/env')) as Record<string, string>;
  assert.equal(env['HOME'], 'C:\\home');
  assert.equal(env['LANG'], 'de');
  assert.equal(env['TEMPERATURE'], '20');
  assert.equal(env['USERNAME'], 'ContainerUser');
  assert.match(env['PATH'] ?? '', /^C:\\Program Files\\nodejs;/);
  const leaked = ['WINEPREFIX', 'WINEDEBUG', 'WINESERVER', 'USER', 'PORTHOLE_EXIT'].filter(
    (name) => name in env,
  );
  assert.deepEqual(leaked, []);
});

test("cmd's set shows Windows' variables and the pod's: none of Linux, and of Wine only what each process gets from it", async () => {
  const { output, code } = await run(['cmd', '/c', 'set'], { env: { GREETING: 'hi' } });
  assert.equal(code, 0, output);
  const names = output
    .split(/\r?\n/)
    .filter((line) => line.includes('='))
    .map((line) => line.slice(0, line.indexOf('=')));
  assert.ok(
    names.includes('GREETING') && names.includes('SystemRoot') && names.includes('USERPROFILE'),
    output,
  );
  const foreign = names.filter((name) =>
    /^(WINE|winsys|PORTHOLE|UNIX|LANG|LC_|HOME$|USER$|PWD$|SHLVL$|TERM$|_$)/i.test(name),
  );
  assert.deepEqual(foreign, [
    'WINECONFIGDIR',
    'WINEDATADIR',
    'WINEDLLDIR0',
    'WINEHOMEDIR',
    'WINELOADER',
    'WINEUSERLOCALE',
    'WINEUSERNAME',
    'winsysdir',
  ]);
  assert.doesNotMatch(output, /PORTHOLE|=\/(?!usr\/lib\/wine\/)/, 'no path of Linux but that of Wine itself');
});

test('volumes are where Windows puts them, whatever way their path is written', async () => {
  assert.equal(await answer('/file?path=C:\\etc\\foo\\settings.json'), '{"a":1}');
  const copied = await web.exec('cmd', '/c', 'copy C:\\app\\server.js C:\\etc\\foo\\new.txt');
  assert.equal(copied.code, 1, copied.stdout);
  assert.deepEqual(readdirSync(join(runtime.directory, 'volumes/config')).sort(), [
    '..2026',
    '..data',
    'settings.json',
  ]);
  assert.equal((await web.exec('cmd', '/c', 'echo yes> C:\\cache\\shared.txt')).code, 0);
  assert.equal((await shell.exec('cmd', '/c', 'type C:\\CACHE\\shared.txt')).stdout.trim(), 'yes');
  assert.equal((await web.exec('cmd', '/c', 'echo x> C:\\scratch\\x.txt')).code, 0);
  assert.equal(readFileSync(join(runtime.directory, 'volumes/scratch/x.txt'), 'utf8').trim(), 'x');
});

test('containers of a pod share one network compartment', async () => {
  const inside = await eventually(() => shell.exec('cmd', '/c', 'netstat -an'));
  assert.equal(inside.code, 0);
  const about = await pod.container('caller', {
    image: images.web,
    command: [
      'C:\\Program Files\\nodejs\\node.exe',
      '-e',
      "fetch('http://localhost/healthz').then(r=>r.text()).then(console.log)",
    ],
  });
  await about.start();
  assert.equal((await about.ended()).code, 0);
  assert.equal(about.log().trim(), 'ok');
  await about.remove();
});

test('exec shows the Windows version, passes exit codes and says what is missing', async () => {
  const version = await shell.exec('cmd', '/c', 'ver');
  assert.match(version.stdout, /Microsoft Windows 10\.0\.20348/);
  assert.equal(version.stderr, '');
  assert.equal((await shell.exec('cmd', '/c', 'exit', '3')).code, 3);
  const missing = await shell.exec('nosuch.exe');
  assert.equal(missing.code, 127);
  assert.match(missing.stderr, /CreateProcess failed for nosuch\.exe: 0x2/);
  const powershell = await shell.exec('powershell', '-Command', 'Get-Process');
  assert.equal(powershell.code, 1);
  assert.match(powershell.stderr, /has no PowerShell/);
  const hosts = await shell.exec('cmd', '/c', 'type C:\\Windows\\System32\\drivers\\etc\\hosts');
  assert.match(hosts.stdout, new RegExp(hostName));
});

test("an image's own files in C:\\Windows are there beside the node's, its deleted files are not", async () => {
  const list = await shell.exec(
    'cmd',
    '/c',
    'type C:\\Windows\\System32\\acme.txt & type C:\\windows\\acme.ini & cd',
  );
  assert.match(list.stdout, /acme.*\[acme\]/s);
  assert.match(list.stdout, /C:\\tools/i);
  assert.notEqual((await shell.exec('cmd', '/c', 'type C:\\tools\\old.txt')).code, 0);
  assert.equal((await shell.exec('cmd', '/c', 'dir C:\\Windows\\System32\\kernel32.dll')).code, 0);
});

test('a Go program works', async () => {
  const result = await shell.exec(
    'cmd',
    '/c',
    'echo let x: number = 1 + 2 | C:\\tools\\esbuild.exe --loader=ts --minify',
  );
  assert.equal(result.stdout.trim(), 'let x=3;');
});

test('a self-contained .NET program works', async () => {
  const result = await shell.exec('C:\\tools\\sarif.exe', '--version');
  assert.match(result.stdout + result.stderr, /5\.7\.0/);
});

test('UDP sockets take the controls that Go programs give them', async () => {
  const program = await buildNative(linuxProcesses, cacheDir, {
    name: 'udp',
    target: 'windows',
    source: fileURLToPath(new URL('./programs/udp.c', import.meta.url)),
    libraries: ['ws2_32'],
  });
  const mounts = [{ hostPath: program, containerPath: 'C:\\test\\udp.exe', readonly: true }];
  const { output } = await run(['C:\\test\\udp.exe'], { mounts });
  assert.deepEqual(output.split(/\r?\n/).slice(0, 4), [
    'connreset 0',
    'netreset 0',
    'no socket -1',
    'packet',
  ]);
});

test('a container that is stopped as soon as it started ends by its event, not by the end of its grace', async () => {
  const container = await pod.container('brief', {
    image: images.empty,
    command: ['ping', '-t', 'localhost'],
  });
  await container.start();
  const before = performance.now();
  await container.stop(30);
  assert.ok(performance.now() - before < 25_000);
  assert.equal((await container.ended()).code, 0);
  await container.remove();
});

test('a program that is killed for memory does not take the node with it', async () => {
  const hog = 'const all=[];setInterval(()=>all.push(Buffer.alloc(16<<20,1)),10)';
  const command = ['C:\\Program Files\\nodejs\\node.exe', '-e', hog];
  const ended = await run(command, { image: images.web, memoryBytes: 128 * 2 ** 20 });
  assert.notEqual(ended.code, 0);
  assert.equal((await shell.exec('cmd', '/c', 'exit', '0')).code, 0);
});

test('cmd runs each line of its standard input', async () => {
  const input = 'echo one\r\nset X=two\r\necho %X%\r\nexit 9\r\n';
  const where = ['--address', runtime.address, '--namespace', 'k8s.io'];
  const exec = ['tasks', 'exec', '--exec-id', 'stdin', shell.id, 'cmd'];
  const { code, stdout } = await linuxProcesses.run('ctr', [...where, ...exec], { input });
  assert.equal(code, 9);
  assert.match(stdout.toString(), />one\r\n.*>two\r\n/s);
});

test('a terminal works: prompt, echo and the exit code', async () => {
  const container = await pod.container('tty', {
    image: images.empty,
    command: ['cmd', '/c', 'echo on a terminal& exit 5'],
    tty: true,
  });
  await container.start();
  const ended = await container.ended();
  assert.equal(ended.code, 5);
  assert.match(container.log(), /on a terminal/);
  await container.remove();
});

test('exit codes keep their 32 bits', async () => {
  const ended = await run(['cmd', '/c', 'exit', '-1073741510']);
  assert.equal(ended.full, -1073741510);
  assert.equal(ended.code, -1073741510 & 0xff);
  assert.equal((await run(['nosuch.exe'])).full, 127);
});

test('what a program writes last is not lost', async () => {
  const { output, code } = await run(['cmd', '/c', 'for /L %i in (1,1,500) do @echo line %i']);
  assert.equal(code, 0);
  assert.match(output, /line 1\r?\n.*line 500/s);
});

test('a user that Windows does not know is refused as Windows does', async () => {
  const container = await pod.container('who', {
    image: images.empty,
    command: ['cmd'],
    annotations: { 'porthole.dev/run-as-username': 'mallory' },
  });
  await assert.rejects(container.start(), /The user name or password is incorrect/);
  await container.remove();
});

test('a mount that leaves drive C: is refused', async () => {
  const container = await pod.container('mount', {
    image: images.empty,
    command: ['cmd'],
    mounts: [{ hostPath: runtime.directory, containerPath: 'D:\\data' }],
  });
  await assert.rejects(container.start(), /no drive D:/);
  await container.remove();
});

test("an image whose C: is a link to the machine's root is refused, and shows nothing of it if it gets in", async () => {
  const image = await linkImage(runtime.directory);
  await assert.rejects(runtime.load(image), /link "Files" to "\/" is absolute/);
  const unchecked = { processes: linuxProcesses, address: runtime.address, checked: true };
  await loadImage({ ...unchecked, ...image });
  const { output } = await eventually(() => run(['cmd', '/c', 'dir /b C:\\'], { image: image.reference }));
  assert.match(output, /windows/i);
  assert.doesNotMatch(output, /etc|proc|work/);
});

test('stopping a container gives its program CTRL_SHUTDOWN_EVENT and leaves no mounts', async () => {
  const before = performance.now();
  await web.stop(30);
  assert.ok(performance.now() - before < 10_000, 'it ended before its grace was over');
  assert.equal((await web.ended()).code, 0);
  await web.remove();
  const mounts = readFileSync('/proc/self/mountinfo', 'utf8').split('\n');
  assert.deepEqual(
    mounts.filter((line) => line.includes(web.id)),
    [],
  );
});

for (const build of testBuilds) {
  test(`a node of build ${build} shows programs that version`, async () => {
    const other = build === 20348 ? runtime : await startWindowsRuntime(build);
    try {
      if (other !== runtime) await other.load(await emptyImage());
      const sandbox = await other.sandbox(`build-${build}`);
      const container = await sandbox.container('ver', {
        image: images.empty,
        command: ['cmd', '/c', 'ver'],
      });
      await container.start();
      await container.ended();
      assert.match(container.log(), new RegExp(`Microsoft Windows 10\\.0\\.${build}`));
      await sandbox.remove();
    } finally {
      if (other !== runtime) await other.close();
    }
  });
}

test('nothing of a removed pod is left', async () => {
  await pod.remove();
  podRemoved = true;
  const { stdout } = await linuxProcesses.run('ip', ['-o', 'netns']);
  assert.equal(stdout.toString().includes('cni-'), false);
});
