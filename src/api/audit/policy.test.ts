// Audit policies: upstream's words for those that are wrong, and which rule a request falls under.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readAuditPolicy } from './policy.ts';

const read = (fields: string): ReturnType<typeof readAuditPolicy> =>
  readAuditPolicy(`{apiVersion: audit.k8s.io/v1, kind: Policy, ${fields}}`);

test('a policy that is wrong is refused with what is wrong in it', () => {
  const table: [string, string][] = [
    ['rules: []', 'loaded illegal policy with 0 rules'],
    ['rules: [{users: [a]}]', 'rules[0].level: Required value'],
    [
      'rules: [{level: Metadata}, {level: All}]',
      'rules[1].level: Unsupported value: "All": supported values: "None", "Metadata", "Request", "RequestResponse"',
    ],
    [
      'rules: [{level: None, nonResourceURLs: [healthz, "/a*b"]}]',
      `[rules[0].nonResourceURLs[0]: Invalid value: "healthz": non-resource URL rules must begin with a '/' character, rules[0].nonResourceURLs[1]: Invalid value: "/a*b": non-resource URL wildcards '*' must be the final character of the rule]`,
    ],
    [
      'rules: [{level: None, nonResourceURLs: ["/a"], namespaces: [x]}]',
      'rules[0].nonResourceURLs: Invalid value: ["/a"]: rules cannot apply to both regular resources and non-resource URLs',
    ],
    [
      'rules: [{level: None, resources: [{group: "", resourceNames: [x]}]}]',
      'rules[0].resources.resourceNames: Invalid value: ["x"]: using resourceNames requires at least one resource',
    ],
    [
      'omitStages: [Received], rules: [{level: None}]',
      'omitStages[0]: Invalid value: "Received": allowed stages are RequestReceived,ResponseStarted,ResponseComplete,Panic',
    ],
    ['rules: [{level: None, users: a}]', 'failed decoding: rules[0].users: expected array, got string'],
    ['rules: [{level: 1}]', 'failed decoding: rules[0].level: expected string, got number'],
  ];
  for (const [fields, message] of table) assert.throws(() => read(fields), { message }, fields);
  const slash = 'rules: [{level: None, resources: [{group: rbac.authorization.k8s.io/v1}]}]';
  assert.throws(
    () => read(slash),
    /^Error: rules\[0\]\.resources\.group: Invalid value: "rbac.authorization.k8s.io\/v1": /,
  );
});

test('a file of another kind is no policy', () => {
  assert.throws(() => readAuditPolicy(''), /Object 'Kind' is missing/);
  const old = '{apiVersion: audit.k8s.io/v1beta1, kind: Policy, rules: [{level: None}]}';
  assert.throws(
    () => readAuditPolicy(old),
    /no kind "Policy" is registered for version "audit.k8s.io\/v1beta1"/,
  );
});

test('fields that nobody knows are told, and the rest holds', () => {
  const { policy, unknownFields } = read(
    'rules: [{level: Metadata, user: [a], resources: [{resource: [pods]}]}]',
  );
  assert.equal(policy.rules[0]!.level, 'Metadata');
  assert.deepEqual(unknownFields, ['rules[0].user', 'rules[0].resources[0].resource']);
});
