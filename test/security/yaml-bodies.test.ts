// Bodies in YAML that mean harm, by HTTP: refused in upstream's words, and the server's own thread is never held for long.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { startTestServer, type TestServer } from '../../src/apiserver/testing/test-server.ts';
import { createYamlThread } from '../../src/component-base/yaml-thread.ts';

const configmaps = '/api/v1/namespaces/default/configmaps';
const most = 3 << 20;
const longestMs = 100;

const thread = createYamlThread();
let server: TestServer;
before(async () => {
  server = await startTestServer({ listen: 'plain', readYaml: (text) => thread.read(text) });
});
after(async () => {
  await server.close();
  await thread.close();
});

async function send(method: string, path: string, body: string, type: string): Promise<[number, string]> {
  const headers = { 'content-type': type };
  const answer = await fetch(`http://127.0.0.1:${server.port}${path}`, { method, headers, body });
  return [answer.status, await answer.text()];
}
const create = (body: string): Promise<[number, string]> =>
  send('POST', configmaps, body, 'application/yaml');
const apply = (name: string, body: string): Promise<[number, string]> =>
  send('PATCH', `${configmaps}/${name}?fieldManager=m`, body, 'application/apply-patch+yaml');

/** What `work` takes of this thread's time, in the longest stretch without a look at anything else. */
async function longestStretch(work: Promise<unknown>): Promise<number> {
  let longest = 0;
  let done = false;
  const end = work.finally(() => {
    done = true;
  });
  for (let last = process.threadCpuUsage(); !done; last = process.threadCpuUsage()) {
    await new Promise((resolve) => setImmediate(resolve));
    const { user, system } = process.threadCpuUsage(last);
    longest = Math.max(longest, (user + system) / 1000);
  }
  await end;
  return longest;
}

const filled = (unit: (i: number) => string, bytes = most - 1000): string => {
  const parts: string[] = [];
  for (let i = 0, length = 0; ; i++) {
    const part = unit(i);
    length += part.length;
    if (length > bytes) return parts.join('');
    parts.push(part);
  }
};
const head = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n';
const bodies: Readonly<Record<string, readonly [body: string, says: RegExp]>> = {
  'a list of strings': [
    `${head}data:\n  k: [${filled(() => `"${'x'.repeat(70)}",`)}]`,
    /cannot unmarshal|expected string, got /,
  ],
  'deep flow collections': [
    `${head}data:\n${filled(() => ` k: ${'['.repeat(400)}${']'.repeat(400)}\n`, 150_000)}`,
    /cannot unmarshal array|expected string, got /,
  ],
  'many keys': [`${head}data:\n${filled((i) => ` k${i}: v\n`)}`, /too complex/],
  'one text of escapes': [`${head}data: {k: "${'\\n'.repeat(1_500_000)}"}`, /Too long/],
  'one text of many lines': [`${head}data: {k: '${`${'x'.repeat(19)}\n `.repeat(140_000)}'}`, /Too long/],
  'aliases of a long text': [
    `${head}data:\n k: &x "${'x'.repeat(most - 2000)}"\n${filled((i) => ` k${i}: *x\n`, 900)}`,
    /excessive aliasing/,
  ],
  'billion laughs': [
    `a: &a [x,x,x,x,x,x,x,x,x]\n${[...'bcdefghi']
      .map((c, i) => `${c}: &${c} [${Array.from({ length: 9 }, () => `*${'abcdefgh'[i]}`).join(',')}]`)
      .join('\n')}`,
    /excessive aliasing/,
  ],
  'a number of millions of digits': [`${head}data: {k: ${'9'.repeat(2_900_000)}}`, /into float64/],
  nesting: ['- '.repeat(1_000_000), /exceeded max depth/],
  'keys that are collections': ['? '.repeat(20), /invalid map key/],
  'binary that is none': [`${head}binaryData: {k: !!binary "${'é'.repeat(1_000_000)}"}`, /invalid base64/],
};

describe('hostile YAML', () => {
  for (const [name, [body, says]] of Object.entries(bodies))
    it(`${name}: refused, and this thread is held for less than ${longestMs} ms`, async (t) => {
      for (const request of [() => create(body), () => apply('a', body)]) {
        let answer: [number, string] = [0, ''];
        const longest = await longestStretch(
          request().then((one) => {
            answer = one;
          }),
        );
        t.diagnostic(`${longest.toFixed(0)} ms, ${answer[0]}`);
        // An apply of what does not fit its kind is a plain error upstream, too: 500, without a reason.
        const isUntyped = answer[1].includes('failed to create typed patch object');
        assert.ok((answer[0] >= 400 && answer[0] < 500) || isUntyped, answer[1].slice(0, 300));
        assert.match(answer[1], says);
        assert.ok(answer[1].length < 10_000);
        assert.ok(longest < longestMs, `${longest} ms`);
      }
    });

  it('after all of it YAML is read as ever: the first document alone, binary as the text it stands for', async () => {
    const long = 'y'.repeat(30_000);
    const body = `${head}data:\n  short: !!binary aGVsbG8=\n  long: !!binary ${Buffer.from(long).toString('base64')}\n---\n}{`;
    const [status, text] = await create(body);
    assert.equal(status, 201, text);
    assert.deepEqual((JSON.parse(text) as { data: unknown }).data, { short: 'hello', long });
    const [applied, result] = await apply('b', body.replace('a}', 'b}'));
    assert.equal(applied, 201, result);
  });
});
