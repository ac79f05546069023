// Secrets of type kubernetes.io/service-account-token get their token, authority and namespace, and go with their account.
import { secrets, serviceaccounts } from '../api/generated/resources.ts';
import type { Secret, ServiceAccount } from '../api/generated/types/core-v1.ts';
import { isStatusError } from '../apimachinery/errors.ts';
import { may } from '../controller-runtime/access.ts';
import {
  type Controller,
  type ControllerContext,
  defineController,
  index,
  watching,
} from '../controller-runtime/define-controller.ts';

const tokenType = 'kubernetes.io/service-account-token';
const nameAnnotation = 'kubernetes.io/service-account.name';
const uidAnnotation = 'kubernetes.io/service-account.uid';
/** Upstream's LegacyIssuer. */
const issuer = 'kubernetes/serviceaccount';
const byAccount = 'service-account';

/** Signs what the server believes. */
export type SignToken = (claims: Readonly<Record<string, string>>) => string;

export interface TokenAuthority {
  now(): string;
  readonly onChange?: (listener: () => void) => () => void;
}

const encoded = (text: string): string => Buffer.from(text, 'utf8').toString('base64');

const claimsOf = (account: ServiceAccount, { metadata }: Secret): Record<string, string> => {
  const { name, namespace = '', uid = '' } = account.metadata ?? {};
  const prefix = 'kubernetes.io/serviceaccount';
  return {
    iss: issuer,
    [`${prefix}/namespace`]: namespace,
    [`${prefix}/secret.name`]: metadata.name ?? '',
    [`${prefix}/service-account.name`]: name ?? '',
    [`${prefix}/service-account.uid`]: uid,
    sub: `system:serviceaccount:${namespace}:${name}`,
  };
};

/** The account that the Secret names: of this uid, if it says one. Looked for at the server before a Secret goes for want of it. */
async function accountOf(secret: Secret, context: ControllerContext): Promise<ServiceAccount | undefined> {
  const { namespace = '', annotations = {} } = secret.metadata;
  const [name, uid] = [annotations[nameAnnotation] ?? '', annotations[uidAnnotation] ?? ''];
  const fits = (account: ServiceAccount | undefined): account is ServiceAccount =>
    account !== undefined && (uid === '' || uid === account.metadata?.uid);
  const known = context.read(serviceaccounts).get(name, namespace);
  if (fits(known)) return known;
  try {
    const live = await context.write.get(serviceaccounts, { name, namespace });
    return fits(live) ? live : undefined;
  } catch (error) {
    if (isStatusError(error, 'NotFound')) return undefined;
    throw error;
  }
}

/** Undefined: it lacks nothing. */
function filled(
  secret: Secret,
  account: ServiceAccount,
  rootCa: string,
  sign: SignToken,
): Secret | undefined {
  const { data = {} } = secret;
  const ca = encoded(rootCa);
  const lacks = {
    ca: rootCa !== '' && data['ca.crt'] !== ca,
    namespace: (data['namespace'] ?? '') === '',
    token: (data['token'] ?? '') === '',
  };
  if (!lacks.ca && !lacks.namespace && !lacks.token) return undefined;
  const { name = '', uid = '' } = account.metadata ?? {};
  const annotations = { ...secret.metadata.annotations, [nameAnnotation]: name, [uidAnnotation]: uid };
  return {
    ...secret,
    metadata: { ...secret.metadata, annotations },
    data: {
      ...data,
      ...(lacks.ca ? { 'ca.crt': ca } : {}),
      ...(lacks.namespace ? { namespace: encoded(secret.metadata.namespace ?? '') } : {}),
      ...(lacks.token ? { token: encoded(sign(claimsOf(account, secret))) } : {}),
    },
  };
}

const isToken = ({ type }: Secret): boolean => type === tokenType;
const keyOf = ({ metadata: { namespace, name } }: Secret): string => `${namespace}/${name}`;
/** Others were before, and look again. */
const isPassing = (error: unknown): boolean =>
  isStatusError(error, 'NotFound') || isStatusError(error, 'Conflict');

/** Without `sign` it gives nobody a token: somebody else does. */
export const serviceAccountTokenController = (
  rootCa: TokenAuthority,
  sign: SignToken | undefined,
): Controller =>
  defineController({
    name: 'serviceaccount-token-controller',
    queue: 'serviceaccount_tokens_secret',
    serviceAccount: 'service-account-tokens-controller',
    for: secrets,
    reads: [serviceaccounts],
    indexes: [
      index(secrets, byAccount, (secret) =>
        isToken(secret)
          ? [`${secret.metadata.namespace}/${secret.metadata.annotations?.[nameAnnotation] ?? ''}`]
          : [],
      ),
    ],
    access: [may('get', serviceaccounts), may(['delete', 'update'], secrets)],
    watches: [
      watching(serviceaccounts, ({ metadata }, { type }, context) =>
        type === 'deleted'
          ? context.read(secrets).byIndex(byAccount, `${metadata?.namespace}/${metadata?.name}`).map(keyOf)
          : [],
      ),
    ],
    start: ({ read, enqueue }) =>
      rootCa.onChange?.(() => {
        for (const secret of read(secrets).list()) if (isToken(secret)) enqueue(keyOf(secret));
      }),
    async reconcile({ name, namespace }, context) {
      const secret = context.read(secrets).get(name, namespace);
      if (sign === undefined || secret === undefined || !isToken(secret)) return undefined;
      const account = await accountOf(secret, context);
      try {
        if (account === undefined) {
          const preconditions = { uid: secret.metadata.uid ?? '' };
          await context.write.delete(secrets, { name, namespace }, { preconditions });
          return undefined;
        }
        const wanted = filled(secret, account, rootCa.now(), sign);
        if (wanted !== undefined) await context.write.update(secrets, wanted);
      } catch (error) {
        if (!isPassing(error)) throw error;
      }
      return undefined;
    },
  });
