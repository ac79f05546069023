// What expressions learn of the authorizer about the user of a request: each question is asked once.
import { type AuthzAnswer, AuthzAnswers } from '../../cel/libraries/authz.ts';
import { exactFields } from '../authorization/attributes.ts';
import type { AuthorizationAttributes, Authorizer } from '../authorization/authorizer.ts';
import type { AdmissionRequest } from './admission.ts';

export const answersAbout = ({ user }: AdmissionRequest, authorizer: Authorizer): AuthzAnswers =>
  new AuthzAnswers(async (question) => {
    const { serviceAccount, verb, path = '', group = '', resource = '', subresource = '' } = question;
    const { namespace = '', name = '', fieldSelector = '', labelSelector = '' } = question;
    const account = serviceAccount && `system:serviceaccount:${serviceAccount.namespace}`;
    const attributes: AuthorizationAttributes = {
      user:
        serviceAccount === undefined
          ? user
          : {
              name: `${account}:${serviceAccount.name}`,
              groups: [
                'system:serviceaccounts',
                `system:serviceaccounts:${serviceAccount.namespace}`,
                'system:authenticated',
              ],
            },
      verb,
      isResource: path === '',
      group,
      version: '*',
      resource,
      subresource,
      namespace,
      name,
      path,
      ...(fieldSelector === '' ? {} : { fields: exactFields(fieldSelector), fieldSelector }),
      ...(labelSelector === '' ? {} : { labelSelector }),
    };
    return answerOf(authorizer, attributes);
  });

/** That nobody can tell is an answer, too: expressions may look at it. */
async function answerOf(authorizer: Authorizer, attributes: AuthorizationAttributes): Promise<AuthzAnswer> {
  try {
    const { decision, reason, error } = await authorizer.authorize(attributes);
    return { allowed: decision === 'allow', reason, ...(error === undefined ? {} : { error }) };
  } catch (error) {
    return { allowed: false, reason: '', error: error instanceof Error ? error.message : String(error) };
  }
}
