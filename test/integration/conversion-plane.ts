// Custom resources of two versions with a conversion webhook between them, in a control plane of their own.
import assert from 'node:assert/strict';
import { after, beforeEach } from 'node:test';
import {
  startTestControlPlane,
  type TestControlPlane,
} from '../../src/controlplane/testing/test-control-plane.ts';
import { answerConversions, type Converted } from '../harness/conversion-webhook.ts';
import { eventually } from '../harness/eventually.ts';
import { startWebhookServer, type WebhookServer } from '../harness/webhook-server.ts';

export const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
export const group = 'conv.example.com';

export const text: { readonly type: string } = { type: 'string' };
export const schemaOf = (properties: object): object => ({
  openAPIV3Schema: {
    type: 'object',
    properties: {
      ...properties,
      spec: { type: 'object', properties: { replicas: { type: 'integer' } } },
      status: { type: 'object', properties: { replicas: { type: 'integer' } } },
    },
  },
});
const subresources = {
  status: {},
  scale: { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' },
};
/** v1 has `hostPort`, v2 the same as `host` and `port`. */
export const versions: readonly { readonly name: string; readonly [field: string]: unknown }[] = [
  {
    name: 'v1',
    served: true,
    storage: true,
    subresources,
    schema: schemaOf({ hostPort: text }),
    selectableFields: [{ jsonPath: '.hostPort' }],
  },
  {
    name: 'v2',
    served: true,
    storage: false,
    subresources,
    schema: schemaOf({ host: text, port: text, tier: { ...text, default: 'basic' } }),
    selectableFields: [{ jsonPath: '.host' }],
  },
];

export function converted(object: Converted, apiVersion: string): Converted {
  const { hostPort, host, port, ...rest } = object;
  if (apiVersion.endsWith('/v1'))
    return { ...rest, apiVersion, hostPort: host === undefined ? hostPort : `${host}:${port}` };
  const [before, behind] = String(hostPort ?? ':').split(':');
  return { ...rest, apiVersion, host: host ?? before, port: port ?? behind };
}

export const path = (plural: string, version: string): string =>
  `/apis/${group}/${version}/namespaces/default/${plural}`;

export interface ConversionPlane {
  readonly plane: TestControlPlane;
  readonly server: WebhookServer;
  /** A definition of `versions`, when it is served. */
  define(plural: string, kind: string, more?: object): Promise<void>;
}

/** For all tests of a file; before each the webhook converts well, and nothing was asked. */
export async function startConversionPlane(): Promise<ConversionPlane> {
  const plane = await startTestControlPlane();
  const server = await startWebhookServer();
  after(async () => {
    await plane.close();
    await server.close();
  });
  beforeEach(() => {
    answerConversions(server, '/convert', converted);
    server.asked.splice(0);
  });
  const { ask } = plane;
  const define: ConversionPlane['define'] = async (plural, kind, more = {}) => {
    const made = await ask('POST', crds, {
      metadata: { name: `${plural}.${group}` },
      spec: {
        group,
        scope: 'Namespaced',
        names: { plural, kind },
        versions,
        conversion: {
          strategy: 'Webhook',
          webhook: {
            clientConfig: { url: `${server.url}/convert`, caBundle: server.caBundle },
            conversionReviewVersions: ['v1'],
          },
        },
        ...more,
      },
    });
    assert.equal(made.status, 201, made.text);
    await eventually(async () => assert.equal((await ask('GET', path(plural, 'v2'))).status, 200), {
      everyMs: 5,
    });
  };
  return { plane, server, define };
}
