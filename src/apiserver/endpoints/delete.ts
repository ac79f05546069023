// DELETE of one object.
import type { JsonObject } from '../../apimachinery/declaration.ts';
import { badRequest, forbidden, invalidObject } from '../../apimachinery/errors.ts';
import { invalid, notSupported } from '../../apimachinery/field-error.ts';
import { decodeAs } from '../../apimachinery/field-validation.ts';
import { obj, str, strs } from '../../apimachinery/json-access.ts';
import { attributesOf, noSelectors } from '../authorization/attributes.ts';
import type { ApiResponse } from '../http.ts';
import { formsOf } from '../negotiation.ts';
import { queryBoolean, queryInt64 } from '../query.ts';
import { maxBodyBytes, parseBody } from '../registry/decode-body.ts';
import type { DeleteOptions } from '../registry/delete-object.ts';
import { deletionOptions, dryRunErrors, type EndpointRequest } from './endpoint.ts';
import { respondObject, respondStored } from './object-response.ts';

const optionsType = 'io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions';

const deleteOptionsKind = { group: 'meta.k8s.io', kind: 'DeleteOptions' };

export interface DeleteRequest extends DeleteOptions {
  readonly dryRun: boolean;
  /** Upstream's ignoreStoreReadErrorWithClusterBreakingPotential: the object can't be read, and is to go all the same. */
  readonly unreadable?: boolean | undefined;
}

type Sent = Omit<DeleteRequest, 'dryRun'> & { readonly dryRun: readonly string[] };

const unreadableField = 'ignoreStoreReadErrorWithClusterBreakingPotential';
const unreadableVerb = 'unsafe-delete-ignore-read-errors';

/** To admission, in one version whichever was sent. */
function asTold(options: object): JsonObject {
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  return { ...Object.fromEntries(given), kind: deleteOptionsKind.kind, apiVersion: 'meta.k8s.io/v1' };
}

const metaVersion = 'meta.k8s.io/v1';
/** What upstream's scheme of options knows beside these, by version. */
const readable: Readonly<Record<string, readonly string[]>> = {
  v1: ['APIGroup', 'APIGroupList', 'APIResourceList', 'APIVersions', 'Status'],
  [metaVersion]: [
    'CreateOptions',
    'GetOptions',
    'ListOptions',
    'PatchOptions',
    'Table',
    'UpdateOptions',
    'WatchEvent',
  ],
};

function otherKind(kind: string, sentVersion: string): string {
  const version = sentVersion === '' ? metaVersion : sentVersion;
  if (readable[version]?.includes(kind) === true)
    return `converting (v1.${kind}) to (v1.DeleteOptions): unknown conversion`;
  const scheme = 'k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme/register.go:27';
  return `no kind ${JSON.stringify(kind)} is registered for version ${JSON.stringify(version)} in scheme "${scheme}"`;
}

/** From the body when there is one, else from the query, as upstream. */
export async function readDeleteOptions({ context, deps }: EndpointRequest): Promise<DeleteRequest> {
  const body = await context.readBody(maxBodyBytes);
  if (body.length === 0) {
    const { query } = context;
    const sent = {
      gracePeriodSeconds: queryInt64(query, 'gracePeriodSeconds'),
      orphanDependents: queryBoolean(query, 'orphanDependents'),
      propagationPolicy: (query.get('propagationPolicy') ?? undefined) as DeleteOptions['propagationPolicy'],
    };
    const dryRun = query.getAll('dryRun');
    const raw = asTold({ ...sent, ...(dryRun.length > 0 ? { dryRun } : {}) });
    return checked({ ...sent, unreadable: queryBoolean(query, unreadableField), raw, dryRun });
  }
  const target = { group: '', version: 'v1', kind: 'DeleteOptions', type: optionsType };
  const { value: sent } = await parseBody(context, body, target, deps);
  const kind = sent['kind'] ?? 'DeleteOptions';
  if (kind !== 'DeleteOptions') throw badRequest(otherKind(str(kind), str(sent['apiVersion'])));
  const { object } = decodeAs(deps.scheme, target, sent);
  context.audit?.requestObject(object);
  const preconditions = obj(object['preconditions']);
  return checked({
    gracePeriodSeconds: object['gracePeriodSeconds'] as number | bigint | undefined,
    propagationPolicy: object['propagationPolicy'] as DeleteOptions['propagationPolicy'],
    orphanDependents: object['orphanDependents'] as boolean | undefined,
    uid: preconditions['uid'] as string | undefined,
    resourceVersion: preconditions['resourceVersion'] as string | undefined,
    unreadable: object[unreadableField] as boolean | undefined,
    raw: asTold(object),
    dryRun: strs(object['dryRun']),
  });
}

const policies: readonly string[] = ['Foreground', 'Background', 'Orphan', 'nil'];

function checked({ dryRun, ...sent }: Sent): DeleteRequest {
  const options: DeleteRequest = { ...sent, dryRun: dryRun.length > 0 };
  const faults = dryRunErrors(dryRun);
  if (faults.length > 0) throw invalidObject(deleteOptionsKind, '', faults);
  const policy: string | undefined = options.propagationPolicy;
  if (policy !== undefined && options.orphanDependents !== undefined)
    throw invalidObject(deleteOptionsKind, '', [
      invalid('propagationPolicy', policy, 'orphanDependents and deletionPropagation cannot be both set'),
    ]);
  if (policy !== undefined && !['Orphan', 'Background', 'Foreground'].includes(policy))
    throw invalidObject(deleteOptionsKind, '', [notSupported('propagationPolicy', policy, policies, true)]);
  if (options.unreadable === true) checkAlone(options);
  return options;
}

/** Nothing that needs to know the object can be asked for as well. */
function checkAlone(options: DeleteRequest): void {
  const others = {
    dryRun: options.dryRun,
    propagationPolicy: options.propagationPolicy !== undefined,
    orphanDependents: options.orphanDependents !== undefined,
    gracePeriodSeconds: options.gracePeriodSeconds !== undefined,
    preconditions: options.raw?.['preconditions'] !== undefined,
  };
  const wrong = Object.entries(others).flatMap(([name, isSet]) =>
    isSet ? [invalid(unreadableField, true, `cannot be set together with .${name}`)] : [],
  );
  if (wrong.length > 0) throw invalidObject(deleteOptionsKind, '', wrong);
}

async function deleteUnreadable({ context, declaration, store, deps }: EndpointRequest): Promise<JsonObject> {
  const { info, user } = context;
  const { decision, reason } = await deps.authorizer.authorize({
    ...attributesOf(info, user, noSelectors),
    verb: unreadableVerb,
  });
  if (decision !== 'allow')
    throw forbidden(info, info.name, `not permitted to do "${unreadableVerb}", reason: ${reason}`);
  const namespace = declaration.namespaced ? info.namespace : '';
  const { cache } = store.deps;
  if (cache.unreadable(namespace, info.name) === undefined)
    throw invalidObject({ group: declaration.group, kind: declaration.resource }, info.name, [
      invalid(
        unreadableField,
        true,
        'is exclusively used to delete corrupt object(s), try again by removing this option',
      ),
    ]);
  context.checkTime();
  await cache.deleteUnreadable(namespace, info.name);
  const details = { name: info.name, kind: declaration.kind };
  return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details, code: 200 };
}

const deletedStatus = (request: EndpointRequest, name: string, uid: string): JsonObject => ({
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Success',
  details: {
    name,
    ...(request.declaration.group === '' ? {} : { group: request.declaration.group }),
    kind: request.declaration.resource,
    uid,
  },
});

export async function deleteEndpoint(request: EndpointRequest): Promise<ApiResponse> {
  const { context, declaration, store, deps } = request;
  const { namespace, name } = context.info;
  const options = await readDeleteOptions(request);
  if (options.unreadable === true)
    return respondObject(context, 200, await deleteUnreadable(request), deps, {
      endpoint: formsOf(declaration),
    });
  const deletion = await store.delete(
    declaration.namespaced ? namespace : '',
    name,
    options,
    deletionOptions(context, options.dryRun),
  );
  const status = !deletion.gone && options.orphanDependents === false ? 202 : 200;
  if (!deletion.gone || declaration.strategy.returnDeletedObject === true)
    return respondStored(context, status, deletion.value, declaration, deps);
  return respondObject(context, status, deletedStatus(request, name, deletion.uid), deps, {
    endpoint: formsOf(declaration),
  });
}
