// Random objects of every kind's own schema: each is one and the same as JSON, as protobuf and as it is stored, and each reply fits the published OpenAPI.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Ajv, type ValidateFunction } from 'ajv';
import { createScheme } from '../../src/api/scheme.ts';
import type { Json, JsonObject, ResourceDeclaration } from '../../src/apimachinery/declaration.ts';
import { encodeProtobuf } from '../../src/apimachinery/serializer/protobuf/envelope.ts';
import {
  type Answer,
  startTestControlPlane,
  type TestControlPlane,
} from '../../src/controlplane/testing/test-control-plane.ts';
import { objectMembers } from '../harness/object-members.ts';
import { RandomMembers } from '../harness/random-members.ts';
import { seededRandom } from '../harness/seeded-random.ts';

const seed = Number(process.env['FUZZ_SEED'] ?? 20_261_123);
const rounds = Number(process.env['FUZZ_ROUNDS'] ?? 12);
const protobuf = 'application/vnd.kubernetes.protobuf';
/** Stored, they would change what the server does with the requests that follow. */
const reaching =
  /^(mutating|validating|customresourcedefinitions|apiservices|flowschemas|prioritylevel|namespaces|resourcequotas|limitranges)/;

/** Which of several is too many, and how a struct is printed, is told by the order of its members: protobuf has one of its own. */
const toldByOrder = /more than 1|Invalid value: (?:\{|\[\{)/;

const scheme = createScheme();
const random = seededRandom(seed);
const members = new RandomMembers(random);
let plane: TestControlPlane;
before(async () => {
  plane = await startTestControlPlane();
  await plane.ask('POST', '/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'default' } });
});
after(() => plane.close());

const groupVersion = (d: ResourceDeclaration): string =>
  d.group === '' ? d.version : `${d.group}/${d.version}`;
const root = (d: ResourceDeclaration): string =>
  `${d.group === '' ? '/api' : '/apis'}/${groupVersion(d)}${d.namespaced ? '/namespaces/default' : ''}/${d.resource}`;

/** Every third from nothing but its type. */
function randomObject(d: ResourceDeclaration): JsonObject {
  const plan = scheme.plans.plan(d.type)!;
  assert.ok(plan.kind === 'struct');
  const object = (
    random.below(3) === 0 ? members.struct(plan) : structuredClone(objectMembers[d.resource] ?? { spec: {} })
  ) as JsonObject;
  for (let i = random.below(3); i > 0; i--) members.addTo(plan, object);
  if (plan.fields.get('spec') === undefined) delete object['spec'];
  return { apiVersion: groupVersion(d), kind: d.kind, metadata: { name: 'fuzz' }, ...object };
}

const ofOneCreate = new Set(['uid', 'creationTimestamp', 'resourceVersion', 'time']);
/** Names, addresses and ports that are given out at random are as good as each other. */
const givenOut =
  /(?<=kube-api-access-)\w{5}|(?<="10\.96\.)\d+\.\d+|(?<="(?:nodePort|healthCheckNodePort)":)3\d{4}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;
const bodyOf = ({ text }: Answer): Json => JSON.parse(text.replaceAll(givenOut, '0')) as Json;
/** Without what differs between two creates; and protobuf can't tell an empty list from none. */
function comparable(value: Json | undefined): Json | undefined {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value))
    return value.length === 0 ? undefined : value.map((one) => comparable(one) ?? null);
  const members = Object.entries(value)
    .filter(([key]) => !ofOneCreate.has(key))
    .map(([key, one]) => [key, comparable(one)] as const)
    .filter(([, one]) => one !== undefined);
  return members.length === 0 ? undefined : Object.fromEntries(members);
}

/** Members are looked at in the order in which they came. */
function causesOf({ body, message }: Answer): readonly string[] {
  const { causes } = (body['details'] ?? {}) as { causes?: readonly object[] };
  return causes === undefined ? [message] : causes.map((one) => JSON.stringify(one)).sort();
}

interface Published {
  properties?: Record<string, object>;
  additionalProperties?: unknown;
}
/** No member beyond those named. Of some that are nothing the API says null, which the document has no word for. */
function tighten(type: string, schema: Published): void {
  if (schema.properties === undefined) return;
  schema.additionalProperties ??= false;
  for (const [name, { servesNull }] of Object.entries(scheme.type(type)?.fields ?? {}))
    if (servesNull === true)
      schema.properties[name] = { anyOf: [schema.properties[name]!, { type: 'null' }] };
}

/** By group and version. */
const published = new Map<string, Promise<Ajv>>();
async function fits(d: ResourceDeclaration): Promise<ValidateFunction> {
  const path = d.group === '' ? `api/${d.version}` : `apis/${d.group}/${d.version}`;
  const load = async (): Promise<Ajv> => {
    const { body } = await plane.ask('GET', `/openapi/v3/${path}`);
    const ajv = new Ajv({ strict: false, validateFormats: false, allErrors: true });
    const { schemas } = (body as { components: { schemas: Record<string, Published> } }).components;
    for (const [type, one] of Object.entries(schemas)) tighten(type, one);
    ajv.addSchema({ $id: 'doc', components: { schemas } } as object);
    return ajv;
  };
  const loading = published.get(path) ?? load();
  published.set(path, loading);
  const validate = (await loading).getSchema(`doc#/components/schemas/${d.type}`);
  assert.ok(validate, `${d.type} is not published at /openapi/v3/${path}`);
  return validate;
}

interface Round {
  readonly d: ResourceDeclaration;
  readonly object: JsonObject;
  readonly told: string;
}

/** The same object in both encodings, by a create that is not stored. */
async function sameInBothEncodings({ d, object, told }: Round): Promise<Answer> {
  const query = `${root(d)}?dryRun=All&fieldManager=fuzz`;
  const json = await plane.ask('POST', query, object);
  const bytes = Buffer.from(encodeProtobuf(scheme, object));
  const other = await plane.ask('POST', query, bytes, { contentType: protobuf });
  assert.equal(other.status, json.status, `${told}\n${json.text}\n${other.text}`);
  assert.ok(json.status < 500, `${told}\n${json.text}`);
  const differs = `${told}: JSON and protobuf differ`;
  if (json.status < 300) assert.deepEqual(comparable(bodyOf(other)), comparable(bodyOf(json)), differs);
  else if (!toldByOrder.test(json.message)) assert.deepEqual(causesOf(other), causesOf(json), differs);
  return json;
}

/** Read in both encodings, and written back as it was read: that is no change. */
async function sameInStorage({ d, object, told }: Round): Promise<void> {
  const made = await plane.ask('POST', `${root(d)}?fieldManager=fuzz`, object);
  if (made.status >= 300 || d.virtual) return;
  const { name } = made.body['metadata'] as { name: string };
  const item = `${root(d)}/${name}`;
  try {
    const json = await plane.ask('GET', item);
    assert.deepEqual(json.body, made.body, `${told}: created and read differ`);
    const binary = await plane.ask('GET', item, undefined, { accept: protobuf });
    // Go's decoder fills in what JSON always shows and protobuf leaves out, so that the bytes are compared.
    const encoded = Buffer.from(encodeProtobuf(scheme, json.body as JsonObject));
    assert.deepEqual(binary.bytes, encoded, `${told}: read as JSON and protobuf differ`);
    const again = await plane.ask('PUT', `${item}?fieldManager=fuzz`, json.body);
    // An update may be held to more than a create: addresses of Nodes.
    if (again.status !== 422) assert.deepEqual(again.body, json.body, `${told}: written back it changed`);
  } finally {
    const released = [{ op: 'add', path: '/metadata/finalizers', value: [] }];
    await plane.ask('PATCH', item, released, { contentType: 'application/json-patch+json' });
    await plane.ask('DELETE', `${item}?gracePeriodSeconds=0`);
  }
}

test(`objects at random from the schema: JSON, protobuf and storage agree, replies fit the OpenAPI (FUZZ_SEED=${seed})`, async () => {
  let accepted = 0;
  for (const d of scheme.resources().filter(({ verbs }) => verbs.includes('create')))
    for (let i = 0; i < rounds; i++) {
      const object = randomObject(d);
      const round = { d, object, told: `${root(d)} ${JSON.stringify(object)}` };
      const answer = await sameInBothEncodings(round);
      if (answer.status >= 300) continue;
      accepted++;
      const validate = await fits(d);
      assert.ok(validate(answer.body), `${round.told}\n${answer.text}\n${JSON.stringify(validate.errors)}`);
      if (!reaching.test(d.resource)) await sameInStorage(round);
    }
  assert.ok(accepted > 100, `${accepted} were accepted`);
});
