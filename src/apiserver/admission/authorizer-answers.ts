// What expressions learn of the authorizer about the user of a request: each question is asked once.
import { AuthzAnswers } from '../../cel/libraries/authz.ts';
import type { AuthorizationAttributes, Authorizer } from '../authorization/authorizer.ts';
import type { AdmissionRequest } from './admission.ts';

export const answersAbout = ({ user }: AdmissionRequest, authorizer: Authorizer): AuthzAnswers =>
  new AuthzAnswers(async (question) => {
    const { serviceAccount, verb, path = '', group = '', resource = '', subresource = '' } = question;
    const { namespace = '', name = '' } = question;
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
    };
    const { decision, reason } = await authorizer.authorize(attributes);
    return { allowed: decision === 'allow', reason };
  });
