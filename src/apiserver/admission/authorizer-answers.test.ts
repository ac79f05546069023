// What expressions ask of the authorizer reaches it whole, and that it failed reaches them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AuthzAnswer, AuthzQuestion } from '../../cel/libraries/authz.ts';
import { CelError } from '../../cel/value.ts';
import type { AuthorizationAttributes, Authorizer } from '../authorization/authorizer.ts';
import type { AdmissionRequest } from './admission.ts';
import { answersAbout } from './authorizer-answers.ts';

const request = { user: { name: 'jane', groups: [] } } as unknown as AdmissionRequest;

async function answered(authorizer: Authorizer, question: AuthzQuestion): Promise<AuthzAnswer> {
  const answers = answersAbout(request, authorizer);
  let found: AuthzAnswer | undefined;
  await answers.settle(() => {
    found = answers.answerTo(question);
    return { value: new CelError(''), cost: 0 };
  });
  return found!;
}

test('selectors that an expression names narrow what the authorizer is asked', async () => {
  const seen: AuthorizationAttributes[] = [];
  const authorizer: Authorizer = {
    authorize(attributes) {
      seen.push(attributes);
      const isNarrow = attributes.fieldSelector !== undefined || attributes.labelSelector !== undefined;
      return { decision: isNarrow ? 'allow' : 'no-opinion', reason: 'r' };
    },
  };
  const question = { verb: 'list', resource: 'pods' };
  assert.deepEqual(await answered(authorizer, question), { allowed: false, reason: 'r' });
  const fieldSelector = 'spec.nodeName=n1,status.phase!=Failed';
  assert.equal((await answered(authorizer, { ...question, fieldSelector })).allowed, true);
  assert.equal((await answered(authorizer, { ...question, labelSelector: 'a in (b)' })).allowed, true);
  const [all, fields, labels] = seen;
  assert.deepEqual([all!.fields, all!.fieldSelector, all!.labelSelector], [undefined, undefined, undefined]);
  assert.deepEqual([fields!.fields, fields!.fieldSelector], [{ 'spec.nodeName': 'n1' }, fieldSelector]);
  assert.deepEqual([labels!.fieldSelector, labels!.labelSelector], [undefined, 'a in (b)']);
});

test('an authorizer that fails allows nothing, and says why', async () => {
  const failing: Authorizer[] = [
    { authorize: () => Promise.reject(new Error('down')) },
    { authorize: () => ({ decision: 'no-opinion', reason: '', error: 'down' }) },
    {
      authorize() {
        throw new Error('down');
      },
    },
  ];
  for (const authorizer of failing)
    assert.deepEqual(await answered(authorizer, { verb: 'get', path: '/x' }), {
      allowed: false,
      reason: '',
      error: 'down',
    });
});
