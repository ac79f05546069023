// Somebody's own kubeconfig: our entries come and go, and everything else stays as it was, letter by letter.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseYaml } from '../base/yaml.ts';
import { mergedKubeconfig, withoutCluster } from './kubeconfig-edit.ts';

const facts = {
  clusterName: 'porthole-x',
  userName: 'porthole-x',
  contextName: 'porthole-x',
  server: 'https://127.0.0.1:6443',
  caCertificatePem: 'CA',
  credentials: { certificatePem: 'CERT', privateKeyPem: 'KEY' },
};

/** As kubectl writes it, and as people change it. */
const theirs = `# mine
apiVersion: v1
clusters:
- cluster:
    certificate-authority: /etc/ca.crt # the old one
    server: https://prod.example:6443
    proxy-url: socks5://localhost:1080

  name: prod
contexts:
# never the default
- context:
    cluster: prod
    namespace: 'team a'
    user: prod
  name: prod
current-context: prod
kind: Config
preferences: {}
users:
- name: prod
  user:
    exec:
      apiVersion: client.authentication.k8s.io/v1
      args: [--region, "eu-1"]
      command: aws
x-tool:
  seen: 0x10
`;

test('a cluster is merged in and chosen; taken out again, the file is what it was, comments and unknown fields too', () => {
  const merged = mergedKubeconfig(theirs, facts);
  for (const line of theirs.split('\n'))
    if (line !== 'current-context: prod' && !line.includes('args:'))
      assert.ok(merged.split('\n').includes(line), `${line}\n${merged}`);
  assert.match(merged, /^current-context: porthole-x$/m);
  const again = mergedKubeconfig(merged, facts);
  assert.equal(again, merged, 'twice is once');
  const without = withoutCluster(merged, facts)!;
  assert.deepEqual(parseYaml(without), { ...(parseYaml(theirs) as object), 'current-context': '' });
  assert.ok(without.includes('# never the default') && without.includes('# mine'), without);
});

test('an entry of our name is made anew, and what its owner put beside it stays', () => {
  const before = mergedKubeconfig('', facts)
    .replace('      server:', '      proxy-url: http://localhost:1\n      server:')
    .replace('      cluster: porthole-x', '      cluster: porthole-x\n      namespace: mine');
  const now = parseYaml(
    mergedKubeconfig(before, { ...facts, server: 'https://127.0.0.1:7', caCertificatePem: 'NEW' }),
  ) as { clusters: object[]; contexts: object[] };
  assert.deepEqual(now.clusters, [
    {
      name: 'porthole-x',
      cluster: {
        'certificate-authority-data': Buffer.from('NEW').toString('base64'),
        'proxy-url': 'http://localhost:1',
        server: 'https://127.0.0.1:7',
      },
    },
  ]);
  assert.deepEqual(now.contexts, [
    { name: 'porthole-x', context: { cluster: 'porthole-x', namespace: 'mine', user: 'porthole-x' } },
  ]);
});

test("a context that was given another name is chosen by it, and goes with its cluster; somebody else's choice stays", () => {
  const config = parseYaml(mergedKubeconfig(theirs, facts)) as { contexts: { name: string }[] };
  config.contexts.find(({ name }) => name === 'porthole-x')!.name = 'work';
  const text = JSON.stringify({ ...config, 'current-context': 'prod' });
  assert.equal(
    (parseYaml(mergedKubeconfig(text, facts)) as Record<string, unknown>)['current-context'],
    'work',
  );
  const without = parseYaml(withoutCluster(text, facts)!) as {
    contexts: object[];
    'current-context': string;
  };
  assert.deepEqual([without.contexts.length, without['current-context']], [1, 'prod']);
});

test('another cluster of that name is not taken out; what is no kubeconfig is not written to', () => {
  const merged = mergedKubeconfig(theirs, facts);
  assert.equal(withoutCluster(merged, { ...facts, caCertificatePem: 'OTHER' }), undefined);
  assert.equal(withoutCluster(theirs, facts), undefined);
  for (const text of [
    '- a list\n',
    'clusters: 5\n',
    'a: [\n',
    'a: 1\na: 2\n',
    'users: [5]\n',
    'a: 1\n---\nb: 2\n',
  ])
    assert.throws(() => mergedKubeconfig(text, facts), Error, text);
});

test('lists that are empty, missing or null take our entries', () => {
  for (const text of ['', '# nothing yet\n', 'clusters: null\nusers: []\ncontexts:\n', '{}']) {
    const config = parseYaml(mergedKubeconfig(text, facts)) as Record<string, unknown[]>;
    assert.deepEqual(
      ['clusters', 'users', 'contexts'].map((list) => config[list]!.length),
      [1, 1, 1],
      text,
    );
    assert.equal(config['kind'], 'Config');
    assert.equal(config['current-context'], 'porthole-x');
  }
});
