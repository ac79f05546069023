// pods/log, exec, attach and portforward: the API server's part, between a client and the pod's kubelet.
import { badRequest, invalidObject } from '../../apimachinery/errors.ts';
import { invalid } from '../../apimachinery/field-error.ts';
import { arr, num, spec, str, strs } from '../../apimachinery/json-access.ts';
import { type ApiResponse, isPullBody } from '../../apiserver/http.ts';
import { queryBoolean } from '../../apiserver/query.ts';
import type { RestHandler, RestRequest } from '../../apiserver/registry/rest-storage.ts';
import { checkedAnswer, unreachable } from '../../apiserver/streaming/backend-errors.ts';
import { tunnelPortForward, tunnelProtocol } from '../../apiserver/streaming/port-forward.ts';
import { remoteCommandProtocols, translateRemoteCommand } from '../../apiserver/streaming/remote-command.ts';
import { passUpgrade } from '../../apiserver/streaming/upgrade-proxy.ts';
import { logByWebSocket } from '../../apiserver/streaming/websocket-stream.ts';
import { requestBackend } from '../../wire/backend.ts';
import { isWebSocketRequest, offeredProtocols } from '../../wire/websocket.ts';
import { portForwardOptions, remoteCommandOptions } from './connect-options.ts';
import {
  assignedNode,
  containerOf,
  type KubeletConnection,
  kubeletOf,
  kubeletPath,
  podOf,
} from './pod-location.ts';

const about = (request: RestRequest): { resource: string; name: string } => ({
  resource: 'pods',
  name: request.name,
});
const logFlags: readonly string[] = ['follow', 'previous', 'timestamps'];
const logValues: readonly string[] = ['sinceSeconds', 'sinceTime', 'tailLines', 'limitBytes', 'stream'];

/** What the kubelet needs of PodLogOptions; refused here when it makes no sense. */
function logQuery(query: URLSearchParams): URLSearchParams {
  const out = new URLSearchParams();
  for (const name of logFlags) if (queryBoolean(query, name) === true) out.set(name, 'true');
  for (const name of logValues) {
    const value = query.get(name);
    if (value !== null && value !== '') out.set(name, value);
  }
  const errors = [];
  for (const [name, least] of [
    ['tailLines', 0],
    ['limitBytes', 1],
    ['sinceSeconds', 1],
  ] as const) {
    const value = out.get(name);
    if (value === null) continue;
    if (!/^-?\d{1,18}$/.test(value))
      throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(value)}: invalid syntax`);
    if (Number(value) < least)
      errors.push(
        invalid(
          name,
          Number(value),
          least === 0 ? 'must be greater than or equal to 0' : 'must be greater than 0',
        ),
      );
  }
  if (out.has('sinceSeconds') && out.has('sinceTime'))
    throw badRequest('at most one of `sinceTime` or `sinceSeconds` may be specified');
  if (errors.length > 0) throw invalidObject({ group: '', kind: 'PodLogOptions' }, '', errors);
  return out;
}

const emptyLog: ApiResponse = {
  status: 200,
  headers: { 'content-type': 'text/plain' },
  body: Buffer.alloc(0),
};

export const createPodLog = (connection: KubeletConnection): RestHandler => ({
  async get(request) {
    const { query } = request.context;
    const pod = podOf(request);
    const options = logQuery(query);
    const container = containerOf(pod, query.get('container') ?? '');
    const nodeName = str(spec(pod)['nodeName']);
    // As upstream: a pod that was never placed has an empty log.
    if (nodeName === '') return emptyLog;
    const target = await kubeletOf(request, nodeName, connection);
    const path = kubeletPath('containerLogs', request.namespace, request.name, container);
    const text = options.toString();
    const response = await requestBackend(target, {
      method: 'GET',
      path: text === '' ? path : `${path}?${text}`,
      headers: {},
      signal: request.context.request.signal,
    }).catch((error: unknown) => {
      throw unreachable(error);
    });
    const { body, status } = await checkedAnswer(response, about(request));
    const { request: http } = request.context;
    if (isWebSocketRequest(http) && isPullBody(body)) return logByWebSocket(http, body);
    return { status, headers: { 'content-type': 'text/plain' }, body };
  },
});

const notUpgradable = (): ReturnType<typeof badRequest> => badRequest('Upgrade request required');

/** `exec` or `attach`: same streams, other path. */
export const createPodRemoteCommand = (
  verb: 'exec' | 'attach',
  connection: KubeletConnection,
): RestHandler => ({
  connectOptions: remoteCommandOptions(verb === 'exec' ? 'PodExecOptions' : 'PodAttachOptions'),
  async connect(request) {
    const { options } = request;
    const { request: http } = request.context;
    const pod = podOf(request);
    const container = containerOf(pod, str(options['container']));
    const streams = {
      stdin: options['stdin'] === true,
      stdout: options['stdout'] === true,
      stderr: options['stderr'] === true,
      tty: options['tty'] === true,
    };
    const target = await kubeletOf(request, assignedNode(pod), connection);
    const out = new URLSearchParams();
    if (streams.stdin) out.set('input', '1');
    if (streams.stdout) out.set('output', '1');
    if (streams.stderr) out.set('error', '1');
    if (streams.tty) out.set('tty', '1');
    if (verb === 'exec') for (const word of strs(options['command'])) out.append('command', word);
    if (!streams.stdin && !streams.stdout && !streams.stderr)
      throw badRequest('you must specify at least 1 of stdin, stdout, stderr');
    if (!http.upgrade) throw notUpgradable();
    const path = `${kubeletPath(verb, request.namespace, request.name, container)}?${out.toString()}`;
    if (!isWebSocketRequest(http)) return passUpgrade(http, target, path);
    const offered = offeredProtocols(http);
    if (offered.length > 0 && !offered.some((p) => remoteCommandProtocols.includes(p)))
      throw badRequest(`unable to upgrade: no supported protocol in ${offered.join(', ')}`);
    return translateRemoteCommand(http, target, path, streams);
  },
});

export const createPodPortForward = (connection: KubeletConnection): RestHandler => ({
  connectOptions: portForwardOptions,
  async connect(request) {
    const { request: http } = request.context;
    const pod = podOf(request);
    const target = await kubeletOf(request, assignedNode(pod), connection);
    if (!http.upgrade) throw notUpgradable();
    const ports = arr(request.options['ports']).map(num);
    for (const port of ports) if (port < 1 || port > 65_535) throw badRequest(`port "${port}" must be > 0`);
    const path = kubeletPath('portForward', request.namespace, request.name);
    const full = ports.length === 0 ? path : `${path}?${ports.map((p) => `port=${p}`).join('&')}`;
    if (isWebSocketRequest(http) && offeredProtocols(http).includes(tunnelProtocol))
      return tunnelPortForward(http, target, full);
    return passUpgrade(http, target, full);
  },
});
