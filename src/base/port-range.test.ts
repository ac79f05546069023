// The forms of a range of ports, and what upstream says of what is none.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parsePortRange } from './port-range.ts';

test('a range is one port, two ends, or a port and how many more', () => {
  const cases: [string, ReturnType<typeof parsePortRange>][] = [
    ['80', { first: 80, last: 80 }],
    [' 1-65535 ', { first: 1, last: 65_535 }],
    ['30000+99', { first: 30_000, last: 30_099 }],
    ['0-0', { first: 0, last: 0 }],
    ['1-2-3', 'unable to parse port range: 1-2-3'],
    ['1-2+3', 'unable to parse port range: 1-2+3'],
    ['a-2', 'strconv.Atoi: parsing "a": invalid syntax'],
    ['2-', 'strconv.Atoi: parsing "": invalid syntax'],
    ['x', 'strconv.Atoi: parsing "x": invalid syntax'],
    ['', 'strconv.Atoi: parsing "": invalid syntax'],
    ['1-65536', 'the port range cannot be greater than 65535: 1-65536'],
    ['65535+1', 'the port range cannot be greater than 65535: 65535+1'],
    ['20-10', 'end port cannot be less than start port: 20-10'],
  ];
  for (const [text, range] of cases) assert.deepEqual(parsePortRange(text), range, text);
});
