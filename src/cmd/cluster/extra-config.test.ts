// What people say in --extra-config, read and kept.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  addExtraFlag,
  argumentsOf,
  type ExtraFlag,
  mergeExtraFlags,
  parseExtraFlag,
  saySame,
} from './extra-config.ts';

test('a flag is named by its component, and all behind the first = is its value', () => {
  const rows: [string, object][] = [
    ['apiserver.event-ttl=2h', { component: 'apiserver', flag: 'event-ttl', value: '2h' }],
    [
      'kubelet.kube-reserved=cpu=1,memory=1Gi',
      { component: 'kubelet', flag: 'kube-reserved', value: 'cpu=1,memory=1Gi' },
    ],
    [
      'controller-manager.node-eviction-rate=',
      { component: 'controller-manager', flag: 'node-eviction-rate', value: '' },
    ],
    ['apiserver.audit-log-path=--', { component: 'apiserver', flag: 'audit-log-path', value: '--' }],
    [
      'apiserver.oidc-username-prefix=-',
      { component: 'apiserver', flag: 'oidc-username-prefix', value: '-' },
    ],
    ['apiserver.event-ttl-', { component: 'apiserver', flag: 'event-ttl', value: undefined }],
  ];
  for (const [text, flag] of rows) assert.deepEqual(parseExtraFlag(text), flag, text);
});

test('what is no flag is refused with a short error, however long and odd it is', () => {
  const rows: [string, RegExp][] = [
    ['', /^"" is not apiserver\.<flag>=<value>/],
    ['--', /^"--" is not /],
    ['apiserver', /^"apiserver" is not /],
    ['apiserver=x.y', /is not apiserver/],
    ['apiserver.event-ttl', /is not apiserver/],
    ['apiserver.--event-ttl=1h', /is not apiserver/],
    ['apiserver.-=1h', /is not apiserver/],
    ['apiserver.=1h', /is not apiserver/],
    ['apiserver.event ttl=1h', /is not apiserver/],
    ['apiserver.event\nttl=1h', /^"apiserver\.event\\nttl=1h" is not /],
    ['.event-ttl=1h', /is not apiserver/],
    [
      'etcd.x=1',
      /there is no component "etcd"; there are apiserver, controller-manager, scheduler, kubelet, kube-proxy$/,
    ],
    ['constructor.x=1', /there is no component "constructor"/],
    ['apiserver.audit-log-path=a\nb', /^"apiserver\.audit-log-path=a\\nb" has a control character in it$/],
    ['apiserver.audit-log-path=a\0b', /has a control character/],
    ['apiserver.audit-log-path=\u001b[2J', /^"apiserver\.audit-log-path=\\u001b\[2J" has a control/],
    [`apiserver.audit-log-path=${'x'.repeat(1_000_000)}`, /…" is longer than 32768 characters$/],
    [`${'x'.repeat(30_000)}.a=1`, /there is no component "x+…"/],
  ];
  for (const [text, message] of rows)
    assert.throws(
      () => parseExtraFlag(text),
      (error: Error) => message.test(error.message) && error.message.length < 300,
      text.slice(0, 80),
    );
});

test('one command may not say more than a program can be started with', () => {
  let said = addExtraFlag('apiserver.oidc-required-claim=a=1');
  for (let i = 0; i < 4; i++) said = addExtraFlag(`apiserver.oidc-required-claim=${'x'.repeat(8_000)}`, said);
  assert.equal(said.length, 5);
  assert.throws(() => addExtraFlag(`apiserver.event-ttl=${'1'.repeat(800)}h`, said), /all of them together/);
});

const flag = (text: string) =>
  parseExtraFlag(text) as { component: 'apiserver'; flag: string; value: string };

test('what is said of a flag goes before what was, and the rest stays', () => {
  const known = [
    flag('apiserver.event-ttl=2h'),
    flag('apiserver.log-level=debug'),
    flag('kubelet.log-level=x'),
  ];
  const asked = [
    parseExtraFlag('apiserver.event-ttl-'),
    flag('apiserver.oidc-required-claim=a=1'),
    flag('apiserver.oidc-required-claim=b=2'),
    flag('apiserver.log-level=info'),
  ];
  assert.deepEqual(mergeExtraFlags(known, asked), [known[2], asked[1], asked[2], asked[3]]);
  assert.deepEqual(mergeExtraFlags(known, undefined), known);
  assert.equal(
    mergeExtraFlags([flag('apiserver.event-ttl=2h')], [parseExtraFlag('apiserver.event-ttl-')]),
    undefined,
  );
  assert.equal(mergeExtraFlags(undefined, undefined), undefined);
});

test('what is said again in another order is the same, but not for one flag', () => {
  const [a, b, b2] = ['apiserver.log-level=info', 'kubelet.x=1', 'kubelet.x=2'].map(flag) as ExtraFlag[];
  assert.ok(saySame([a!, b!], mergeExtraFlags([a!, b!], [a!])));
  assert.ok(saySame(undefined, []));
  assert.ok(!saySame([a!, b!], [a!, b2!]));
  assert.ok(!saySame([b!, b2!], [b2!, b!]));
  assert.ok(!saySame([a!], undefined));
});

test('each is one argument of its program', () => {
  const flags = [
    'apiserver.audit-log-path=--data-dir',
    'kubelet.pod-max-pids=100',
    'controller-manager.node-eviction-rate=1',
    'kube-proxy.nftables-sync-period=5s',
  ].map(flag);
  assert.deepEqual(argumentsOf(flags, 'server'), ['--audit-log-path=--data-dir', '--node-eviction-rate=1']);
  assert.deepEqual(argumentsOf(flags, 'agent'), ['--pod-max-pids=100', '--nftables-sync-period=5s']);
  assert.deepEqual(argumentsOf(undefined, 'server'), []);
});
