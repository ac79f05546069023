// A webhook as a pod: labels what it may change, refuses what says so, converts between two versions. Its key and certificate come by the environment.
import { createServer } from 'node:https';

/** v1 has `hostPort`, v2 the same as `host` and `port`. */
function converted({ host, port, hostPort, ...rest }, apiVersion) {
  if (apiVersion.endsWith('/v1')) return { ...rest, apiVersion, hostPort: hostPort ?? `${host}:${port}` };
  const [before, behind] = (hostPort ?? '').split(':');
  return { ...rest, apiVersion, host: host ?? before, port: port ?? behind };
}

const answers = {
  '/convert': ({ objects, desiredAPIVersion }) => ({
    result: { status: 'Success' },
    convertedObjects: objects.map((object) => converted(object, desiredAPIVersion)),
  }),
  '/mutate': ({ object: { metadata } }) => ({
    allowed: true,
    patchType: 'JSONPatch',
    patch: btoa(
      JSON.stringify([
        {
          op: 'add',
          path: '/metadata/labels',
          value: { ...metadata.labels, 'seen-by': process.env.HOSTNAME },
        },
      ]),
    ),
  }),
  '/validate': ({ object: { data } }) => ({
    allowed: data?.bad === undefined,
    status: { code: 403, reason: 'Forbidden', message: 'it is bad' },
    warnings: ['looked at'],
  }),
};

const server = createServer({ key: process.env.KEY, cert: process.env.CERT }, async (request, response) => {
  const parts = [];
  for await (const part of request) parts.push(part);
  const { apiVersion, kind, request: asked } = JSON.parse(Buffer.concat(parts).toString());
  const answer = answers[request.url.split('?')[0]](asked);
  response.end(JSON.stringify({ apiVersion, kind, response: { uid: asked.uid, ...answer } }));
});
server.listen(8443);
process.on('SIGTERM', () => process.exit());
