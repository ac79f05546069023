// Roles of controllers beside upstream's: the same names, and what ours may do that upstream's may not is named here.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PolicyRule } from '../api/generated/types/rbac-v1.ts';
import { controllerRoles } from './controller-roles.ts';
import recorded from './testdata/upstream-roles.json' with { type: 'json' };

const upstream = recorded as Readonly<Record<string, readonly PolicyRule[]>>;

/** `verb group/resource name` of all that the rules allow. */
const partsOf = (rules: readonly PolicyRule[]): string[] =>
  rules.flatMap(({ verbs, apiGroups = [], resources = [], resourceNames = [''] }) =>
    verbs.flatMap((verb) =>
      apiGroups.flatMap((group) =>
        resources.flatMap((resource) =>
          resourceNames.map((name) => `${verb} ${group}/${resource} ${name}`.trimEnd()),
        ),
      ),
    ),
  );

const beyond = (config: Parameters<typeof controllerRoles>[0]): Record<string, string[]> =>
  Object.fromEntries(
    controllerRoles(config).flatMap(({ serviceAccount, rules }) => {
      if (upstream[serviceAccount] === undefined) return [];
      const known = new Set(partsOf(upstream[serviceAccount]));
      const isKnown = (part: string): boolean =>
        known.has(part) || known.has(`${part.slice(0, part.indexOf(' '))} */*`);
      const more = partsOf(rules).filter((part) => !isKnown(part));
      return more.length === 0 ? [] : [[serviceAccount, more]];
    }),
  );

/** What upstream's controllers read as well, by informers that ask in the name of the whole manager. */
const readsMore = {
  'disruption-controller': ['list /pods', 'watch /pods'],
  'legacy-service-account-token-cleaner': [
    'list /secrets',
    'watch /secrets',
    'list /pods',
    'watch /pods',
    'list /serviceaccounts',
    'watch /serviceaccounts',
  ],
  'node-controller': ['list coordination.k8s.io/leases', 'watch coordination.k8s.io/leases'],
  'resource-claim-controller': [
    'list resource.k8s.io/resourceclaimtemplates',
    'watch resource.k8s.io/resourceclaimtemplates',
  ],
  'root-ca-cert-publisher': [
    'list /namespaces',
    'watch /namespaces',
    'list /configmaps',
    'watch /configmaps',
  ],
  'service-account-controller': [
    'list /namespaces',
    'watch /namespaces',
    'list /serviceaccounts',
    'watch /serviceaccounts',
  ],
};

test('the accounts of upstream that are served here have their roles, and all but two everywhere', () => {
  const accounts = controllerRoles({}).map(({ serviceAccount }) => serviceAccount);
  assert.deepEqual(
    Object.keys(upstream).filter((account) => !accounts.includes(account)),
    [],
  );
  const placed = controllerRoles({}).filter(({ namespace }) => namespace !== undefined);
  assert.deepEqual(
    placed.map(({ serviceAccount, namespace, rules }) => [serviceAccount, namespace, rules.length]),
    [
      ['bootstrap-signer', 'kube-public', 2],
      ['bootstrap-signer', 'kube-system', 1],
      ['token-cleaner', 'kube-system', 1],
    ],
  );
});

test('nothing may be done that upstream allows to nobody of that name, but reading what informers hold', () => {
  assert.deepEqual(beyond({}), readsMore);
});

test('who is to approve certificates of kubelets may, and reads what it needs for that', () => {
  assert.deepEqual(beyond({ approveKubeletServing: true }), {
    ...readsMore,
    'certificate-controller': [
      'list /nodes',
      'watch /nodes',
      'list discovery.k8s.io/endpointslices',
      'watch discovery.k8s.io/endpointslices',
      'list networking.k8s.io/servicecidrs',
      'watch networking.k8s.io/servicecidrs',
      'approve certificates.k8s.io/signers kubernetes.io/kubelet-serving',
    ],
  });
});
