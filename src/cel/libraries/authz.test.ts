// Questions to an authorizer: asked once each, and answered between two runs of the same expression.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Outcome } from '../program.ts';
import { checkedExpression } from '../testing/expressions.ts';
import { formatValue } from '../value-text.ts';
import {
  AuthzAnswers,
  type AuthzQuestion,
  authorizerType,
  authorizerValue,
  requestResourceValue,
  resourceCheckType,
} from './authz.ts';
import { kubernetesEnvironment } from './kubernetes.ts';

const environment = kubernetesEnvironment.extend({
  variables: { authorizer: authorizerType, 'authorizer.requestResource': resourceCheckType },
});

function asking(text: string): { outcome: Promise<Outcome>; asked: AuthzQuestion[] } {
  const asked: AuthzQuestion[] = [];
  const answers = new AuthzAnswers(async (question) => {
    asked.push(question);
    if (question.verb === 'fail') return { allowed: false, reason: '', error: 'no answer' };
    return { allowed: question.verb === 'get', reason: `about ${question.verb}` };
  });
  const program = checkedExpression(text, environment).program();
  const variables = {
    authorizer: authorizerValue(answers),
    'authorizer.requestResource': requestResourceValue(answers, {
      group: 'g',
      resource: 'r',
      namespace: 'n',
    }),
  };
  return { outcome: answers.settle(() => program.run(variables)), asked };
}

test('what is asked is all that the expression said', async () => {
  const table: [text: string, value: string, asked: AuthzQuestion[]][] = [
    ['authorizer.path("/healthz").check("get").allowed()', 'true', [{ path: '/healthz', verb: 'get' }]],
    [
      'authorizer.group("apps").resource("deployments").subresource("scale").namespace("a").name("b").check("update").allowed()',
      'false',
      [
        {
          group: 'apps',
          resource: 'deployments',
          subresource: 'scale',
          namespace: 'a',
          name: 'b',
          verb: 'update',
        },
      ],
    ],
    [
      'authorizer.serviceAccount("a", "b").group("").resource("pods").labelSelector("x=y").fieldSelector("z=1").check("get").reason()',
      'about get',
      [
        {
          serviceAccount: { namespace: 'a', name: 'b' },
          group: '',
          resource: 'pods',
          labelSelector: 'x=y',
          fieldSelector: 'z=1',
          verb: 'get',
        },
      ],
    ],
    [
      'authorizer.requestResource.check("get").allowed()',
      'true',
      [{ group: 'g', resource: 'r', namespace: 'n', verb: 'get' }],
    ],
    [
      'authorizer.path("/x").check("fail").errored() ? authorizer.path("/x").check("fail").error() : ""',
      'no answer',
      [{ path: '/x', verb: 'fail' }],
    ],
    ['authorizer.path(" ").check("get").allowed()', 'path must not be empty', []],
    [
      'authorizer.serviceAccount("a", "B_").path("/").check("get").allowed()',
      'Invalid service account name',
      [],
    ],
    ['true || authorizer.path("/x").check("get").allowed()', 'true', []],
  ];
  for (const [text, value, questions] of table) {
    const { outcome, asked } = asking(text);
    assert.equal(formatValue((await outcome).value), value, text);
    assert.deepEqual(asked, questions, text);
  }
});

test('several questions are asked one after the other, each once, and the cost is that of one run', async () => {
  const check = (path: string): string => `authorizer.path("${path}").check("get").allowed()`;
  const { outcome, asked } = asking(`${check('/a')} && ${check('/b')} && ${check('/a')}`);
  assert.equal((await outcome).cost, 3 * (350_000 + 3));
  assert.deepEqual(
    asked.map(({ path }) => path),
    ['/a', '/b'],
  );
});
