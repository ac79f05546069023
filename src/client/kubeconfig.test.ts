// Kubeconfigs, good and broken.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { KubeconfigError, loadKubeconfig } from './kubeconfig.ts';

const config = `
apiVersion: v1
kind: Config
current-context: me@here
clusters:
- name: here
  cluster: { server: "https://10.0.0.1:6443", certificate-authority: pki/ca.crt }
users:
- name: me
  user: { client-certificate-data: ${Buffer.from('CERT').toString('base64')}, client-key: /abs/key }
- name: plugin
  user: { exec: { command: rm } }
contexts:
- { name: me@here, context: { cluster: here, user: me, namespace: team } }
- { name: plugin, context: { cluster: here, user: plugin } }
- { name: lost, context: { cluster: nowhere, user: me } }
`;
const files: Record<string, string> = {
  '/etc/k/config': config,
  '/etc/k/pki/ca.crt': 'CA',
  '/abs/key': 'KEY',
  '/bad': 'a: [',
};
const read = async (path: string): Promise<Buffer> => {
  const text = files[path];
  if (text === undefined) throw new Error(`ENOENT ${path}`);
  return Buffer.from(text);
};

describe('loadKubeconfig', () => {
  it('reads data, files beside it and absolute files', async () => {
    const { transport, namespace, context } = await loadKubeconfig('/etc/k/config', read);
    assert.deepEqual(
      [
        context,
        namespace,
        transport.server,
        String(transport.ca),
        String(transport.cert),
        String(transport.key),
      ],
      ['me@here', 'team', 'https://10.0.0.1:6443', 'CA', 'CERT', 'KEY'],
    );
  });
  it('names what is missing', async () => {
    await assert.rejects(loadKubeconfig('/nothing', read), KubeconfigError);
    await assert.rejects(loadKubeconfig('/bad', read), KubeconfigError);
    await assert.rejects(loadKubeconfig('/etc/k/config', read, 'other'), /context "other" does not exist/);
    await assert.rejects(loadKubeconfig('/etc/k/config', read, 'lost'), /cluster "nowhere" does not exist/);
    await assert.rejects(
      loadKubeconfig('/etc/k/config', read, 'plugin'),
      /uses exec, which is not supported/,
    );
  });
});
