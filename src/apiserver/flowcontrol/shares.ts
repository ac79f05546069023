// Whose share of the server a request takes. Whoever may make service accounts in a namespace has as many users as it likes, so
// all of them together have no more than a few users' shares. Pure.
import type { FlowSchema } from '../../api/generated/types/flowcontrol-v1.ts';
import type { UserInfo } from '../authentication/user-info.ts';
import type { RequestInfo } from '../request-info.ts';
import { distinguisherOf } from './flow-schemas.ts';
import { dealHand, type Flow } from './queue-set.ts';

/** As many as so many users. */
export const sharesOfNamespace = 4;

const accountName = /^system:serviceaccount:([^:]+):[^:]+$/;

/** Undefined: no service account, or one of the cluster's own, whose controllers are many and trusted. */
export function accountNamespace(user: string): string | undefined {
  const namespace = accountName.exec(user)?.[1];
  return namespace === 'kube-system' ? undefined : namespace;
}

/** Who takes turns with others. */
export const sharerOf = ({ name }: UserInfo): string => {
  const namespace = accountNamespace(name);
  return namespace === undefined ? name : `system:serviceaccounts:${namespace}`;
};

/** Upstream's flows; of those by user the accounts of a namespace have a few hands, so that they don't stand in all queues. */
export function flowOf(schema: FlowSchema, user: UserInfo, info: RequestInfo): Flow {
  const ofSchema = schema.metadata.name ?? '';
  const name = `${ofSchema}\n${distinguisherOf(schema, user, info)}`;
  const byUser = schema.spec.distinguisherMethod?.type === 'ByUser';
  if (!byUser || accountNamespace(user.name) === undefined) return { name };
  const party = `${ofSchema}\n${sharerOf(user)}`;
  const [hand] = dealHand(user.name, sharesOfNamespace, 1);
  return { name, hand: `${party}\n${hand}`, party };
}
