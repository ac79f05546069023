// The order in which plugins decide, and who is waited for.
import assert from 'node:assert/strict';
import test from 'node:test';
import type { AdmissionPlugin, AdmissionRequest } from './admission.ts';
import { admissionChain } from './chain.ts';

const request = {
  operation: 'CREATE',
  reinvocation: { wanted: false, again: false },
} as unknown as AdmissionRequest;

test('plugins that decide at once are not waited for; those after one that does not come when it has', async () => {
  const { promise: decided, resolve: decide } = Promise.withResolvers<void>();
  const asked: string[] = [];
  const plugin = (name: string, answer?: Promise<void>): AdmissionPlugin => ({
    name,
    operations: ['CREATE'],
    admit: () => {
      asked.push(`admit ${name}`);
      return answer;
    },
    validate: () => {
      asked.push(`validate ${name}`);
      return answer;
    },
  });
  const chain = admissionChain([plugin('a'), plugin('b'), plugin('slow', decided), plugin('c')]);
  const admitting = chain.admit(request);
  const validating = chain.validate(request);
  const phases = ['admit', 'validate'];
  assert.deepEqual(
    asked,
    phases.flatMap((phase) => ['a', 'b', 'slow'].map((name) => `${phase} ${name}`)),
  );
  decide();
  await Promise.all([admitting, validating]);
  assert.deepEqual(
    asked.slice(6),
    phases.map((phase) => `${phase} c`),
  );
});
