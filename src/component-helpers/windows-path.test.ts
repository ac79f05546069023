// Every spelling of a path lands where Windows puts it.
import assert from 'node:assert/strict';
import test from 'node:test';
import { parseWindowsPath } from './windows-path.ts';

const written = (path: string): string => {
  const parsed = parseWindowsPath(path);
  return 'error' in parsed ? parsed.error : `C:\\${parsed.parts.join('\\')}`;
};

const rows: readonly [string, string][] = [
  ['C:\\etc\\foo', 'C:\\etc\\foo'],
  ['c:/scratch/', 'C:\\scratch'],
  ['/cache', 'C:\\cache'],
  ['/var/run/secrets/kubernetes.io/serviceaccount', 'C:\\var\\run\\secrets\\kubernetes.io\\serviceaccount'],
  ['data\\sub/.', 'C:\\data\\sub'],
  ['C:\\..\\..\\..\\etc\\passwd', 'C:\\etc\\passwd'],
  ['/a/../../b', 'C:\\b'],
  ['\\\\?\\C:\\long', 'C:\\long'],
  ['C:', 'C:\\'],
  ['/', 'C:\\'],
];
for (const [path, expected] of rows) {
  test(`${path} is ${expected}`, () => assert.equal(written(path), expected));
}

const refused: readonly [string, RegExp][] = [
  ['', /empty/],
  ['D:\\data', /no drive D:/],
  ['\\\\server\\share', /network shares/],
  ['//server/share', /network shares/],
  ['\\\\.\\pipe\\docker', /named pipe/],
  ['C:\\a\0b', /control character/],
  ['C:\\a:stream', /character that Windows refuses/],
  ['C:\\nul', /device/],
  ['C:\\COM1.txt', /device/],
  ['C:\\what?', /character that Windows refuses/],
];
for (const [path, reason] of refused) {
  test(`${JSON.stringify(path)} is refused`, () => {
    const parsed = parseWindowsPath(path);
    assert.ok('error' in parsed);
    assert.match(parsed.error, reason);
  });
}
