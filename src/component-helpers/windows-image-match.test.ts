// The host/image rule, row by row.
import assert from 'node:assert/strict';
import test from 'node:test';
import {
  fittingWindowsEntries,
  hostsThatFit,
  matchWindowsImage,
  parseOsVersion,
  type WindowsIsolation,
  windowsVersionOf,
} from './windows-image-match.ts';

const rows: readonly [number, string, WindowsIsolation, boolean][] = [
  [17763, '10.0.17763.8146', 'process', true],
  [17763, '10.0.20348.1', 'process', false],
  [20348, '10.0.17763.1', 'process', false],
  [20348, '10.0.20348.2113', 'process', true],
  [20348, '10.0.26100.1', 'process', false],
  [25398, '10.0.20348.2113', 'process', true],
  [25398, '10.0.25398.1', 'process', true],
  [26100, '10.0.20348.2113', 'process', true],
  [26100, '10.0.25398.1', 'process', true],
  [26100, '10.0.17763.1', 'process', false],
  [26100, '10.0.17763.1', 'hyperv', true],
  [20348, '10.0.26100.1', 'hyperv', false],
  [20348, '10.0.26100.1', 'host-process', true],
  [20348, '', 'process', true],
  [20348, '6.3.20348.1', 'process', false],
  [20348, 'latest', 'process', false],
];

for (const [host, image, isolation, expected] of rows) {
  test(`host ${host} ${expected ? 'runs' : 'refuses'} image "${image}" with ${isolation} isolation`, () => {
    assert.equal(matchWindowsImage(host, image, isolation).fits, expected);
  });
}

test('a mismatch says what HCS says and where the image would run', () => {
  const match = matchWindowsImage(20348, '10.0.17763.8146');
  assert.ok(!match.fits);
  assert.equal(
    match.reason,
    'The container operating system does not match the host operating system. (0xc0370101) ' +
      'Image 10.0.17763.8146, host 10.0.20348. ' +
      'It runs on a node with windows-build 10.0.17763 (Windows Server 2019 Datacenter). ' +
      'On this node it would need Hyper-V isolation.',
  );
});

test('an image from the future fits no known host', () => {
  assert.deepEqual(hostsThatFit('10.0.29000.1', 'process'), []);
});

test('the newest fitting entry of an index comes first', () => {
  const entry = (osVersion: string | undefined, os = 'windows', architecture = 'amd64') => ({
    platform: { os, architecture, ...(osVersion === undefined ? {} : { osVersion }) },
  });
  const entries = [
    entry(undefined),
    entry('10.0.17763.1'),
    entry('10.0.20348.1'),
    entry('10.0.20348.900'),
    entry('10.0.26100.1'),
    entry('10.0.25398.1'),
    entry(undefined, 'linux'),
    entry('10.0.26100.1', 'windows', 'arm64'),
  ];
  const versions = (build: number) =>
    fittingWindowsEntries(entries, { build, architecture: 'amd64' }).map((e) => e.platform.osVersion);
  assert.deepEqual(versions(26100), [
    '10.0.26100.1',
    '10.0.25398.1',
    '10.0.20348.900',
    '10.0.20348.1',
    undefined,
  ]);
  assert.deepEqual(versions(20348), ['10.0.20348.900', '10.0.20348.1', undefined]);
  assert.deepEqual(versions(17763), ['10.0.17763.1', undefined]);
});

test('versions are read with three or four numbers and nothing else', () => {
  assert.deepEqual(parseOsVersion('10.0.20348'), { major: 10, minor: 0, build: 20348, revision: 0 });
  for (const wrong of ['', '10', '10.0', '10.0.20348.1.2', '10.0.-1', '10.0.20348.x', '1e1.0.20348']) {
    assert.equal(parseOsVersion(wrong), undefined, wrong);
  }
});

test('the table names each release as its registry does', () => {
  assert.equal(windowsVersionOf(26100)?.kernelVersion, '10.0.26100.6899');
  assert.equal(windowsVersionOf(20348)?.productName, 'Windows Server 2022 Datacenter');
  assert.equal(windowsVersionOf(14393), undefined);
});
