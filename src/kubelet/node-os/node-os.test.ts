// What a node makes of a container on Linux and on Windows, and which pods each refuses.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aContainer, aPod } from '../testing/observed-builder.ts';
import { createLinuxNodeOs } from './linux.ts';
import { createWindowsNodeOs } from './windows.ts';
import { windowsContainerPath } from './windows-path.ts';

const linux = createLinuxNodeOs({ osImage: 'Debian', kernelVersion: '6' });
const windowsServer = {
  build: 20348,
  osImage: 'Windows Server 2022 Datacenter',
  kernelVersion: '10.0.20348.4405',
  emulated: true,
  hostDrive: '/drive-c',
};
const windows = createWindowsNodeOs(windowsServer);
const imageUser = { uid: undefined, name: '' };
const node = { imageUser, seccompRoot: '/node/seccomp', nodeMemoryBytes: 8 << 30, nodeCpuCount: 4 };

test('a Linux container gets shares, quota, limit and score from its resources', () => {
  const container = aContainer('main', {
    resources: { requests: { cpu: '250m' }, limits: { cpu: '500m', memory: '64Mi' } },
  });
  const pod = aPod({ containers: [container] });
  const { resources } = linux.containerSettings({ pod, container, ...node }).linux!;
  assert.equal(resources?.cpuShares, 256);
  assert.equal(resources?.cpuQuota, 50_000);
  assert.equal(resources?.memoryLimitInBytes, 64 << 20);
});

test('security settings of the container win over those of the pod', () => {
  const container = aContainer('main', {
    securityContext: {
      runAsUser: 7,
      capabilities: { add: ['CAP_NET_ADMIN', 'SYS_TIME'], drop: ['ALL'] },
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
    },
  });
  const pod = aPod({
    containers: [container],
    securityContext: {
      runAsUser: 5,
      runAsGroup: 6,
      fsGroup: 9,
      supplementalGroups: [10],
      seccompProfile: { type: 'RuntimeDefault' },
    },
  });
  const s = linux.containerSettings({ pod, container, ...node }).linux?.securityContext;
  assert.deepEqual(
    [
      s?.runAsUser?.value,
      s?.runAsGroup?.value,
      s?.supplementalGroups,
      s?.capabilities?.addCapabilities,
      s?.capabilities?.dropCapabilities,
      s?.noNewPrivs,
      s?.readonlyRootfs,
      s?.seccomp?.profileType,
    ],
    [7, 6, [9, 10], ['NET_ADMIN', 'SYS_TIME'], ['ALL'], true, true, 'RuntimeDefault'],
  );
});

test('runAsNonRoot is checked against the chosen and the image user, with the texts of upstream', () => {
  const pod = aPod({ securityContext: { runAsNonRoot: true } });
  const container = aContainer('main');
  const where = '(pod: "p_ns(uid-1)", container: main)';
  assert.equal(
    linux.breaksNonRoot(pod, container, { uid: undefined, name: '' }),
    `container has runAsNonRoot and image will run as root ${where}`,
  );
  assert.equal(
    linux.breaksNonRoot(pod, container, { uid: undefined, name: 'web' }),
    `container has runAsNonRoot and image has non-numeric user (web), cannot verify user is non-root ${where}`,
  );
  assert.equal(linux.breaksNonRoot(pod, container, { uid: 5, name: '' }), undefined);
  const admin = aPod({
    securityContext: { runAsNonRoot: true, windowsOptions: { runAsUserName: 'containeradministrator' } },
  });
  assert.equal(
    windows.breaksNonRoot(admin, container, imageUser),
    `container's runAsUserName (containeradministrator) which will be regarded as root identity and will break non-root policy ${where}`,
  );
});

test('pods of the other system are refused as upstream does', () => {
  assert.equal(linux.admit(aPod({ os: { name: 'windows' } }))?.reason, 'PodOSNotSupported');
  assert.equal(windows.admit(aPod({ os: { name: 'linux' } }))?.reason, 'PodOSNotSupported');
  assert.equal(windows.admit(aPod()), undefined);
});

test('an emulated node refuses a HostProcess pod with the reason', () => {
  const hostProcess = { windowsOptions: { hostProcess: true } };
  const whole = aPod({ hostNetwork: true, securityContext: hostProcess });
  const one = aPod({ containers: [aContainer('main', { securityContext: hostProcess })] });
  for (const pod of [whole, one]) {
    assert.equal(windows.admit(pod)?.reason, 'HostProcessNotSupported');
    assert.match(windows.admit(pod)?.message ?? '', /need a real Windows node/);
  }
});

test('a simulated node takes a HostProcess pod as a Linux one takes a privileged one: neither runs', () => {
  const onPaper = createWindowsNodeOs({ ...windowsServer, simulated: true });
  const pod = aPod({ hostNetwork: true, securityContext: { windowsOptions: { hostProcess: true } } });
  assert.equal(onPaper.admit(pod), undefined);
  assert.equal(onPaper.hostNetwork(pod), true);
});

test('a Windows node has no taint of its own accord', () => {
  assert.deepEqual(windows.taints, []);
});

test('an emulated Windows node says so in label, OS image and annotation', () => {
  assert.equal(windows.labels['porthole.dev/emulated'], 'true');
  assert.equal(windows.labels['node.kubernetes.io/windows-build'], '10.0.20348');
  assert.match(windows.nodeInfo.osImage, /emulated/);
  assert.ok('porthole.dev/emulated-on' in windows.annotations);
});

test('on Windows only limits count, as shares of the whole node', () => {
  const container = aContainer('main', {
    resources: { requests: { cpu: '2' }, limits: { cpu: '500m', memory: '100Mi' } },
  });
  const settings = windows.containerSettings({ pod: aPod(), container, ...node });
  assert.deepEqual(settings.windows?.resources, { cpuMaximum: 1250, memoryLimitInBytes: 100 << 20 });
  assert.equal(settings.linux?.resources?.cpuQuota, 50_000);
  assert.equal(settings.linux?.resources?.cpuShares, 1024);
});

test('Linux-only fields of a security context do nothing on Windows', () => {
  const container = aContainer('main', {
    securityContext: { privileged: true, runAsUser: 5, readOnlyRootFilesystem: true },
  });
  const { linux: part } = windows.containerSettings({ pod: aPod({ hostPID: true }), container, ...node });
  assert.equal(part?.securityContext?.privileged, undefined);
  assert.equal(part?.securityContext?.readonlyRootfs, undefined);
  assert.equal(part?.securityContext?.namespaceOptions?.pid, 'CONTAINER');
  assert.equal(windows.hostNetwork(aPod({ hostNetwork: true })), false);
});

test('an emulated Windows container asks for what a restricted Linux one has, and its sandbox as well', () => {
  const container = aContainer('main', { securityContext: { privileged: true } });
  const asked = windows.containerSettings({ pod: aPod(), container, ...node }).linux?.securityContext;
  assert.equal(asked?.seccomp?.profileType, 'RuntimeDefault');
  assert.equal(asked?.noNewPrivs, true);
  assert.deepEqual(asked?.capabilities, { dropCapabilities: ['ALL'] });
  assert.ok(asked?.maskedPaths?.includes('/proc/kcore'));
  assert.ok(asked?.readonlyPaths?.includes('/proc/sys'));
  const sandbox = windows.sandboxSettings(aPod(), '/pods/x').linux?.securityContext;
  assert.equal(sandbox?.seccomp?.profileType, 'RuntimeDefault');
  assert.notEqual(sandbox?.runAsUser?.value ?? 0, 0);
});

test('the image must fit the build, unless Hyper-V takes an older one', () => {
  const old = { os: 'windows', architecture: 'amd64', osVersion: '10.0.17763.1' };
  assert.match(
    windows.imageMismatch(aPod(), old, 'runhcs-wcow-process') ?? '',
    /^The container operating system does not match the host operating system\. \(0xc0370101\)/,
  );
  assert.equal(windows.imageMismatch(aPod(), old, 'runhcs-wcow-hypervisor'), undefined);
  assert.match(
    windows.imageMismatch(aPod(), { ...old, os: 'linux' }, '') ?? '',
    /cannot be used on this platform/,
  );
  assert.match(linux.imageMismatch(aPod(), old, '') ?? '', /cannot be used on this platform/);
});

test('mount paths become Windows paths; bare drives, streams and ways upwards are refused', () => {
  const rows: [string, string][] = [
    ['C:\\etc\\foo', 'C:\\etc\\foo'],
    ['C:/etc/foo', 'C:\\etc\\foo'],
    ['/cache', 'C:\\cache'],
    ['cache', 'C:\\cache'],
    ['/var/run/secrets/kubernetes.io/serviceaccount', 'C:\\var\\run\\secrets\\kubernetes.io\\serviceaccount'],
    ['\\\\.\\pipe\\x', '\\\\.\\pipe\\x'],
  ];
  for (const [from, to] of rows) assert.equal(windowsContainerPath(from), to);
  for (const bad of ['', 'C:', 'D:\\', 'C:/', 'a\0', 'C:\\a:stream', 'C:\\..\\x', '/a/../..']) {
    assert.throws(() => windowsContainerPath(bad), Error, JSON.stringify(bad));
  }
});

test('a sysctl that is not for the pod alone is refused by Linux; Windows has none', () => {
  const sysctls = [
    { name: 'net/ipv4/ping_group_range', value: '0 1' },
    { name: 'kernel.msgmax', value: '1' },
  ];
  const pod = aPod({ securityContext: { sysctls } });
  assert.deepEqual(linux.admit(pod), {
    reason: 'SysctlForbidden',
    message: 'forbidden sysctl: "kernel.msgmax" not allowlisted',
  });
  assert.equal(linux.admit(aPod({ securityContext: { sysctls: sysctls.slice(0, 1) } })), undefined);
  assert.equal(windows.admit(pod), undefined);
});

test("a path of the node is the machine's on Linux, and below the drive that pods share on Windows", () => {
  assert.deepEqual(linux.hostPlace('/var/x'), { base: '/var/x', path: '', linkFree: false });
  assert.deepEqual(windows.hostPlace('C:\\Var\\x'), { base: '/drive-c', path: 'var/x', linkFree: true });
  assert.throws(() => linux.hostPlace('var/x'), { message: 'hostPath "var/x" is not an absolute path' });
});

test('there is no OOMKilled on Windows', () => {
  assert.equal(windows.terminatedReason('OOMKilled', 137), 'Error');
  assert.equal(linux.terminatedReason('OOMKilled', 137), 'OOMKilled');
});

test('what a Linux node can not enforce it refuses: user namespaces, AppArmor, profiles from elsewhere', () => {
  const pod = aPod({ hostUsers: false });
  assert.throws(() => linux.runtimeHandler(pod, ''), {
    message: "can't set `spec.hostUsers: false`, runtime does not support user namespaces",
  });
  assert.throws(() => linux.runtimeHandler(pod, 'kata'), {
    message:
      'can\'t set `spec.hostUsers: false`, RuntimeClass handler "kata" does not support user namespaces',
  });
  assert.equal(linux.runtimeHandler(aPod({ hostUsers: true }), 'kata'), 'kata');
  const armored = aPod({ securityContext: { appArmorProfile: { type: 'RuntimeDefault' } } });
  assert.equal(linux.admit(armored)?.reason, 'AppArmor');
  const able = createLinuxNodeOs({ osImage: 'Debian', kernelVersion: '6', appArmor: true });
  assert.equal(able.admit(armored), undefined);
  const profileOf = (container: ReturnType<typeof aContainer>) =>
    able.containerSettings({ pod: armored, container, ...node }).linux?.securityContext;
  assert.deepEqual(profileOf(aContainer('main'))?.apparmor, { profileType: 'RuntimeDefault' });
  const own = { appArmorProfile: { type: 'Localhost', localhostProfile: 'k8s-x' } };
  assert.deepEqual(profileOf(aContainer('main', { securityContext: own }))?.apparmor, {
    profileType: 'Localhost',
    localhostRef: 'k8s-x',
  });
  const seccomp = (localhostProfile: string) =>
    aContainer('main', { securityContext: { seccompProfile: { type: 'Localhost', localhostProfile } } });
  assert.equal(profileOf(seccomp('a/b.json'))?.seccomp?.localhostRef, '/node/seccomp/a/b.json');
  for (const bad of ['../x', '/etc/x', 'a/../../x', '']) assert.throws(() => profileOf(seccomp(bad)), bad);
});
