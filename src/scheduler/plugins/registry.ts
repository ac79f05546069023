// The default profile: every plugin in upstream's order with its score weight.
import type { PluginArgs } from '../config/plugin-args.ts';
import type { WeightedPlugin } from '../framework/plugin.ts';
import type { StorageView } from '../framework/storage.ts';
import { defaultBinder } from './default-binder.ts';
import { defaultPreemption, type PreemptionDeps } from './default-preemption.ts';
import { type DevicesView, dynamicResources } from './dynamic-resources.ts';
import { imageLocality } from './image-locality.ts';
import { interPodAffinity, type NamespaceLabels } from './inter-pod-affinity.ts';
import { nodeAffinity } from './node-affinity.ts';
import { nodeName } from './node-name.ts';
import { nodePorts } from './node-ports.ts';
import { nodeResourcesBalancedAllocation } from './node-resources-balanced-allocation.ts';
import { nodeResourcesFit } from './node-resources-fit.ts';
import { nodeUnschedulable } from './node-unschedulable.ts';
import { nodeVolumeLimits } from './node-volume-limits.ts';
import { podSystemPlugin } from './pod-system.ts';
import { podTopologySpread } from './pod-topology-spread.ts';
import { prioritySort } from './priority-sort.ts';
import { schedulingGates } from './scheduling-gates.ts';
import { taintToleration } from './taint-toleration.ts';
import { volumeBinding } from './volume-binding.ts';
import { volumeRestrictions } from './volume-restrictions.ts';
import { volumeZone } from './volume-zone.ts';

/** What plugins ask of the scheduler that runs them. */
export interface PluginDeps extends PreemptionDeps {
  readonly devices: DevicesView;
  readonly storage: StorageView;
  readonly labelsOf: NamespaceLabels;
}

export function defaultPlugins(deps: PluginDeps, args: PluginArgs): readonly WeightedPlugin[] {
  const { client, devices, labelsOf, storage } = deps;
  return [
    { plugin: schedulingGates, weight: 0 },
    { plugin: prioritySort, weight: 0 },
    { plugin: nodeUnschedulable, weight: 0 },
    { plugin: nodeName, weight: 0 },
    { plugin: taintToleration, weight: 3 },
    { plugin: nodeAffinity(args.NodeAffinity), weight: 2 },
    { plugin: podSystemPlugin, weight: 0 },
    { plugin: nodePorts, weight: 0 },
    { plugin: nodeResourcesFit(args.NodeResourcesFit), weight: 1 },
    { plugin: volumeRestrictions(storage), weight: 0 },
    { plugin: nodeVolumeLimits(storage), weight: 0 },
    { plugin: volumeBinding(client, storage, args.VolumeBinding), weight: 0 },
    { plugin: volumeZone(storage), weight: 0 },
    { plugin: podTopologySpread, weight: 2 },
    { plugin: interPodAffinity(labelsOf, args.InterPodAffinity), weight: 2 },
    { plugin: dynamicResources(client, devices), weight: 2 },
    { plugin: defaultPreemption(deps, args.DefaultPreemption), weight: 0 },
    {
      plugin: nodeResourcesBalancedAllocation(args.NodeResourcesBalancedAllocation),
      weight: 1,
    },
    { plugin: imageLocality, weight: 1 },
    { plugin: defaultBinder(client), weight: 0 },
  ];
}
