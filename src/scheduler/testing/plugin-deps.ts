// What the default plugins ask for, of a cluster without API server, storage and budgets.
import { FakeClock } from '../../base/testing/fake-clock.ts';
import type { InformerFactory } from '../../client/cache/informer.ts';
import { SharedInformer } from '../../client/cache/shared-informer.ts';
import type { Client } from '../../client/client.ts';
import { silentLogger } from '../../component-base/logger.ts';
import { createMetrics } from '../../component-base/metrics.ts';
import { usualArgs } from '../config/plugin-args.ts';
import { Nominator } from '../framework/nominator.ts';
import type { DevicesView } from '../plugins/dynamic-resources.ts';
import { defaultPlugins, type PluginDeps } from '../plugins/registry.ts';
import { type PluginsByPoint, pluginsByPoint } from '../profile.ts';
import { noStorage } from './no-storage.ts';

const informer: InformerFactory['informer'] = (resource) => new SharedInformer(resource, silentLogger);

const noDevices: DevicesView = {
  claim: () => undefined,
  deviceClass: () => undefined,
  pools: () => ({ ofNode: new Map(), shared: [] }),
  allocated: () => new Set(),
  isPending: () => false,
  assume: () => {},
  forget: () => {},
};

export const testPluginDeps = (changed: Partial<PluginDeps> = {}): PluginDeps => ({
  client: {} as Client,
  storage: noStorage,
  devices: noDevices,
  labelsOf: () => undefined,
  clock: new FakeClock(),
  random: { uint: () => 0, fraction: () => 0.5, uuid: () => 'u' },
  log: silentLogger,
  events: { event: () => {}, flush: async () => {} },
  metrics: createMetrics(),
  informers: { informer } as InformerFactory,
  nominator: new Nominator(),
  activate: () => {},
  released: () => {},
  ...changed,
});

export const usualPoints = (): PluginsByPoint =>
  pluginsByPoint({ schedulerName: 'test', plugins: {} }, defaultPlugins(testPluginDeps(), usualArgs()));
