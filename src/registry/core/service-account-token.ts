// TokenRequest: signs a token for a service account, bound to a pod, secret or node if asked.
import type { TokenRequestSpec } from '../../api/generated/types/authentication-v1.ts';
import type { JsonObject } from '../../apimachinery/declaration.ts';
import { badRequest, conflict, invalidObject, statusErrorFrom } from '../../apimachinery/errors.ts';
import { type FieldError, invalid } from '../../apimachinery/field-error.ts';
import { meta, nameOf, spec, str } from '../../apimachinery/json-access.ts';
import type { RestAnswer, RestHandler, RestRequest } from '../../apiserver/registry/rest-storage.ts';
import { rfc3339 } from '../../base/clock.ts';
import type { Random } from '../../base/random.ts';

export interface TokenSigner {
  readonly issuer: string;
  readonly audiences: readonly string[];
  /** Whether tokens of pods that ask for what pods ask by default live for a year. */
  readonly extendExpiration: boolean;
  /** Whoever asks for more gets as much as this. */
  readonly maxExpirationSeconds?: number | undefined;
  sign(claims: Readonly<Record<string, unknown>>): string | Promise<string>;
}

const kindOfRequest = { group: 'authentication.k8s.io', kind: 'TokenRequest' };
const defaultSeconds = 3600;
const minimumSeconds = 600;
const maximumSeconds = 2 ** 32;
/** What pods ask for by default; such tokens live longer than they say, for clients that never re-read them. */
const projectedSeconds = 3607;
const extendedSeconds = 365 * 24 * 3600;

function validate(seconds: TokenRequestSpec['expirationSeconds'] = defaultSeconds): FieldError[] {
  if (seconds < minimumSeconds) {
    return [invalid('spec.expirationSeconds', seconds, 'may not specify a duration less than 10 minutes')];
  }
  if (seconds > maximumSeconds) {
    return [
      invalid('spec.expirationSeconds', seconds, 'may not specify a duration larger than 2^32 seconds'),
    ];
  }
  return [];
}

/** Of its namespace the endpoint has made sure. */
function checkIdentity(asked: JsonObject, account: Named): void {
  const { name } = account;
  const own = nameOf(asked);
  if (own !== '' && own !== name)
    throw invalidObject(kindOfRequest, name, [
      invalid('metadata.name', own, 'must match the service account name if specified'),
    ]);
  const uid = str(meta(asked).uid);
  if (uid !== '' && uid !== account.uid)
    throw conflict(
      { group: kindOfRequest.group, resource: kindOfRequest.kind },
      name,
      `the UID in the token request (${uid}) does not match the UID of the service account (${account.uid})`,
    );
}

interface Named {
  readonly name: string;
  readonly uid: string;
}
const identity = (object: JsonObject): Named => ({ name: nameOf(object), uid: str(meta(object).uid) });

/** What a token may be bound to. */
const boundResources: ReadonlyMap<string, string> = new Map([
  ['Pod', 'pods'],
  ['Secret', 'secrets'],
  ['Node', 'nodes'],
]);

/** The bound object's claims; throws when it is not there, or another one. */
function boundClaims(
  request: RestRequest,
  reference: NonNullable<TokenRequestSpec['boundObjectRef']>,
): Record<string, unknown> {
  const kind = reference.kind ?? '';
  const name = reference.name ?? '';
  const resource = boundResources.get(kind);
  if (resource === undefined || reference.apiVersion !== 'v1') {
    throw badRequest(
      `cannot bind token to object of type ${reference.apiVersion ?? ''}, Kind=${kind}`.replace(
        ' v1,',
        ' /v1,',
      ),
    );
  }
  const store = request.store('', resource);
  const object = store.served(store.cached(kind === 'Node' ? '' : request.namespace, name).value);
  const found = identity(object);
  if (reference.uid !== undefined && reference.uid !== '' && reference.uid !== found.uid) {
    throw conflict(
      { group: '', resource: kind },
      name,
      `the UID in the bound object reference (${reference.uid}) does not match the UID in record. The object might have been deleted and then recreated`,
    );
  }
  if (kind !== 'Pod') return { [kind.toLowerCase()]: found };
  if (str(spec(object).serviceAccountName) !== request.name) {
    throw badRequest(
      `cannot bind token for serviceaccount ${JSON.stringify(request.name)} to pod running with different serviceaccount name.`,
    );
  }
  const nodeName = str(spec(object).nodeName);
  if (nodeName === '') return { pod: found };
  const node = request.store('', 'nodes').find('', nodeName);
  return { pod: found, node: node === undefined ? { name: nodeName } : identity(node) };
}

const accountOf = ({ store, namespace, name }: RestRequest): Named => {
  const accounts = store('', 'serviceaccounts');
  return identity(accounts.served(accounts.cached(namespace, name).value));
};

export function createServiceAccountToken(deps: {
  readonly signer: TokenSigner;
  readonly random: Random;
}): RestHandler {
  const { signer, random } = deps;
  return {
    complete: (request) => completed(request, signer),
    create: (request) => signed(request, signer, random),
  };
}

/** What is asked for by default is said, so that a policy about audiences or accounts sees them. */
function completed(request: RestRequest & { readonly object: JsonObject }, signer: TokenSigner): JsonObject {
  const { object, namespace, clock } = request;
  const account = accountOf(request);
  checkIdentity(object, account);
  const wanted = spec(object);
  const { audiences: named = [], expirationSeconds } = wanted as Partial<TokenRequestSpec>;
  const audiences = named.length > 0 ? [...named] : [...signer.audiences];
  const { status: _, ...rest } = object;
  const metadata = { ...meta(object), ...account, namespace, creationTimestamp: rfc3339(clock.now()) };
  const errors = validate(expirationSeconds);
  if (errors.length > 0) throw invalidObject(kindOfRequest, '', errors);
  return { ...rest, metadata, spec: { ...wanted, audiences } };
}

/** Another program may do it, and not well. */
async function signedBy(signer: TokenSigner, claims: Parameters<TokenSigner['sign']>[0]): Promise<string> {
  try {
    return await signer.sign(claims);
  } catch (error) {
    throw statusErrorFrom({ code: 500, message: `failed to generate token: ${(error as Error).message}` });
  }
}

async function signed(request: RestRequest, signer: TokenSigner, random: Random): Promise<RestAnswer> {
  const object = request.object ?? {};
  const { boundObjectRef: reference, audiences = [], expirationSeconds } = spec(object) as TokenRequestSpec;
  const bound = reference ? boundClaims(request, reference) : {};
  const longest = signer.maxExpirationSeconds ?? Number.POSITIVE_INFINITY;
  const asksSeconds = Number(expirationSeconds ?? defaultSeconds);
  const seconds = Math.min(asksSeconds, longest);
  const nowSeconds = Math.floor(request.clock.now() / 1000);
  const forServer = audiences.every((audience) => signer.audiences.includes(audience));
  const extended = signer.extendExpiration && 'pod' in bound && asksSeconds === projectedSeconds && forServer;
  const token = await signedBy(signer, {
    aud: audiences,
    exp: nowSeconds + (extended ? Math.min(extendedSeconds, longest) : seconds),
    iat: nowSeconds,
    iss: signer.issuer,
    jti: random.uuid(),
    'kubernetes.io': {
      namespace: request.namespace,
      ...bound,
      serviceaccount: identity(object),
      ...(extended ? { warnafter: nowSeconds + seconds } : {}),
    },
    nbf: nowSeconds,
    sub: `system:serviceaccount:${request.namespace}:${request.name}`,
  });
  return {
    status: 201,
    object: {
      ...object,
      kind: 'TokenRequest',
      apiVersion: 'authentication.k8s.io/v1',
      spec: { audiences, expirationSeconds: seconds, boundObjectRef: reference ? { ...reference } : null },
      status: { token, expirationTimestamp: rfc3339((nowSeconds + seconds) * 1000) },
    },
  };
}
