// Which rule a request falls under: upstream's rules for groups, subresources, names, namespaces and paths.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readAuditPolicy } from '../../api/audit/policy.ts';
import { requestInfo } from '../request-info.ts';
import { policyMatcher } from './audit-rules.ts';

const user = { name: 'tim@k8s.io', groups: ['developers', 'system:authenticated'] };

function isMatched(rule: string, url: string, method = 'GET'): boolean {
  const { policy } = readAuditPolicy(
    `{apiVersion: audit.k8s.io/v1, kind: Policy, rules: [{level: Metadata, ${rule}}]}`,
  );
  const [path, query] = url.split('?');
  return (
    policyMatcher(policy)(
      requestInfo(method, path!, () => new URLSearchParams(query)),
      user,
    ).level === 'Metadata'
  );
}

const pod = '/api/v1/namespaces/default/pods/busybox';
const log = `${pod}/log`;
const node = '/api/v1/nodes/n';
const role = '/apis/rbac.authorization.k8s.io/v1/clusterroles/edit';

test('each field of a rule narrows it', () => {
  const table: [string, string, boolean][] = [
    ['', pod, true],
    ['', '/healthz', true],
    ['users: [tim@k8s.io]', pod, true],
    ['users: [bob]', pod, false],
    ['userGroups: [admins, developers]', pod, true],
    ['userGroups: [admins]', pod, false],
    ['verbs: [get]', pod, true],
    ['verbs: [list]', pod, false],
    ['namespaces: [default]', pod, true],
    ['namespaces: [other]', pod, false],
    ['namespaces: [""]', node, true],
    ['namespaces: [default]', '/healthz', false],
    ['resources: [{}]', pod, true],
    ['resources: [{group: ""}]', role, false],
    ['resources: [{group: rbac.authorization.k8s.io}]', role, true],
    ['resources: [{group: "*"}]', role, true],
    ['resources: [{resources: [pods]}]', pod, true],
    ['resources: [{resources: [pods]}]', log, false],
    ['resources: [{resources: [pods/log]}]', log, true],
    ['resources: [{resources: ["pods/*"]}]', log, true],
    ['resources: [{resources: ["pods/*"]}]', pod, true],
    ['resources: [{resources: ["*/log"]}]', log, true],
    ['resources: [{resources: ["*/log"]}]', pod, false],
    ['resources: [{resources: ["*"]}]', log, true],
    ['resources: [{resources: [pods], resourceNames: [busybox]}]', pod, true],
    ['resources: [{resources: [pods], resourceNames: [other]}]', pod, false],
    ['resources: [{resources: [pods]}], namespaces: [other]', pod, false],
    ['nonResourceURLs: [/healthz]', '/healthz', true],
    ['nonResourceURLs: ["/logs*"]', '/logs/a', true],
    ['nonResourceURLs: ["*"]', '/version', true],
    ['nonResourceURLs: [/health]', '/healthz', false],
    ['nonResourceURLs: ["*"]', pod, false],
  ];
  for (const [rule, url, expected] of table) assert.equal(isMatched(rule, url), expected, `${rule} ${url}`);
});

test('who is not known is in no group; stages of policy and rule are left out together', () => {
  const { policy } = readAuditPolicy(
    '{apiVersion: audit.k8s.io/v1, kind: Policy, omitStages: [RequestReceived], omitManagedFields: true, rules: [{level: Request, userGroups: [developers], omitStages: [Panic], omitManagedFields: false}]}',
  );
  const match = policyMatcher(policy);
  const info = requestInfo('GET', pod, () => new URLSearchParams());
  assert.equal(match(info, undefined).level, 'None');
  const rule = match(info, user);
  assert.deepEqual(
    [rule.level, [...rule.omitStages], rule.omitManagedFields],
    ['Request', ['RequestReceived', 'Panic'], false],
  );
});
