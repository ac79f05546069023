// The handlers of all subresources that stream to a kubelet, a pod or a service.
import { type RestHandler, type RestStorage, restKey } from '../../apiserver/registry/rest-storage.ts';
import type { Random } from '../../base/random.ts';
import type { KubeletConnection } from './pod-location.ts';
import { createPodLog, createPodPortForward, createPodRemoteCommand } from './pod-streaming.ts';
import { createNodeProxy, createPodProxy, createServiceProxy, type MachineAddress } from './proxy.ts';

export function streamingStorage(deps: {
  readonly connection: KubeletConnection;
  readonly random: Random;
  readonly isMachine: MachineAddress;
}): RestStorage {
  const { connection, random, isMachine } = deps;
  return new Map<string, RestHandler>([
    [restKey('', 'nodes', 'proxy'), createNodeProxy(connection)],
    [restKey('', 'pods', 'attach'), createPodRemoteCommand('attach', connection)],
    [restKey('', 'pods', 'exec'), createPodRemoteCommand('exec', connection)],
    [restKey('', 'pods', 'log'), createPodLog(connection)],
    [restKey('', 'pods', 'portforward'), createPodPortForward(connection)],
    [restKey('', 'pods', 'proxy'), createPodProxy(isMachine)],
    [restKey('', 'services', 'proxy'), createServiceProxy((below) => random.uint(below), isMachine)],
  ]);
}
