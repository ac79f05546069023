// What `porthole server` refuses before it starts, and what its help says.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Command } from 'commander';
import { serverCommand } from './server.ts';

const quiet = (): Command =>
  serverCommand()
    .exitOverride()
    .configureOutput({ writeErr: () => {} });
const flags = ['--data-dir', '/nonexistent/porthole', '--secure-port', '0'];

test('N20: names that are none are refused with those there are', async () => {
  const rows: [string[], RegExp][] = [
    [['--disable', 'dns,foo'], /'dns,foo' is invalid\. "foo": there are dns, scheduler, controllers\./],
    [['--log-level', 'x'], /Allowed choices are debug, info, warn, error, silent\./],
    [['--advertise-address', 'db'], /^--advertise-address "db" is no IP address$/],
    [['--advertise-address', 'fd00::7'], /^--advertise-address fd00::7 is of IPv6: nodes and pods/],
    [['--enable-aggregator-routing', 'false'], /Allowed choices are true\./],
    [['--bind-address', 'nonsense'], /^--bind-address "nonsense" is no IP address; this machine has /],
  ];
  for (const [more, message] of rows)
    await assert.rejects(quiet().parseAsync([...flags, ...more], { from: 'user' }), { message });
});

test('N20: help shows durations and lists as people write them, and nothing that is refused', () => {
  const help = quiet().helpInformation();
  assert.match(help, /8760h0m0s/);
  assert.doesNotMatch(help, /etcd|\[\]|31536000000/);
});
