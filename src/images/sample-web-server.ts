// The sample Windows container's program: a small web server for node.exe that tells where it runs and can call others.

/** Runs on any Node from 18 on. Listens on PORT, default 80. */
export const sampleWebServer = `'use strict';
const http = require('node:http');
const os = require('node:os');

const port = Number(process.env.PORT || 80);
const json = (response, status, value) => {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(value, null, 2) + '\\n');
};
const about = () => ({
  message: process.env.MESSAGE || 'Hello from a Windows container',
  hostname: os.hostname(),
  platform: process.platform,
  version: os.version(),
  release: os.release(),
  user: os.userInfo().username,
  directory: process.cwd(),
});

const server = http.createServer(async (request, response) => {
  const url = new URL(request.url, 'http://localhost');
  try {
    if (url.pathname === '/healthz') return void response.end('ok\\n');
    if (url.pathname === '/env') return json(response, 200, process.env);
    if (url.pathname === '/file') {
      return void response.end(require('node:fs').readFileSync(url.searchParams.get('path') || ''));
    }
    if (url.pathname === '/call') {
      const answer = await fetch(url.searchParams.get('url') || '', { signal: AbortSignal.timeout(5000) });
      return void response.end(await answer.text());
    }
    json(response, 200, about());
  } catch (error) {
    json(response, 500, { error: String(error), cause: error && error.cause ? String(error.cause) : undefined });
  }
});
server.listen(port, () => console.log('listening on port ' + port + ', ' + os.version() + ' ' + os.release()));
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGBREAK']) {
  process.on(signal, () => {
    console.log('ending on ' + signal);
    server.close(() => process.exit(0));
    server.closeAllConnections();
  });
}
`;
