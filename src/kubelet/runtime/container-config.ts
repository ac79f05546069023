// A container as the runtime wants it. Pure: environment and mounts are made before.
import type { Pod } from '../../api/generated/types/core-v1.ts';
import type { ContainerConfig, Image, Mount } from '../../rpc-api/generated/cri-v1.ts';
import type { NodeOs } from '../node-os/node-os.ts';
import * as names from '../pod-format.ts';
import { expand } from './env-expansion.ts';
import type { Environment } from './env-vars.ts';
import { createExecBudget } from './exec-budget.ts';

export interface ContainerInput {
  readonly pod: Pod;
  readonly container: names.AnyContainer;
  readonly attempt: number;
  readonly image: Image;
  readonly environment: Environment;
  readonly mounts: readonly Mount[];
  readonly nodeOs: NodeOs;
  readonly seccompRoot: string;
  readonly nodeMemoryBytes: number;
  readonly nodeCpuCount: number;
  readonly targetId?: string | undefined;
}

export const imageUserOf = (image: Image): { uid: number | undefined; name: string } => ({
  uid: image.uid?.value,
  name: image.username ?? '',
});

const stopSignal = (container: names.AnyContainer): Partial<ContainerConfig> => {
  const signal = container.lifecycle?.stopSignal;
  return signal === undefined ? {} : { stopSignal: signal as NonNullable<ContainerConfig['stopSignal']> };
};

export const gracePeriodSeconds = (pod: Pod): number => Number(pod.spec.terminationGracePeriodSeconds ?? 30);

/** The command and the arguments, which a program gets as one list. */
function commandLine(
  container: names.AnyContainer,
  environment: Environment,
): Pick<ContainerConfig, 'command' | 'args'> {
  const budget = createExecBudget(`the command line of container "${container.name}"`);
  const expanded = (text: string): string => {
    const made = expand(text, (name) => environment.get(name));
    budget.spend(made);
    return made;
  };
  const { command = [], args = [] } = container;
  budget.reserve(command.length + args.length);
  return { command: command.map(expanded), args: args.map(expanded) };
}

export function containerConfig(input: ContainerInput): ContainerConfig {
  const { pod, container, environment, nodeOs } = input;
  const settings = nodeOs.containerSettings({
    pod,
    container,
    imageUser: imageUserOf(input.image),
    seccompRoot: input.seccompRoot,
    nodeMemoryBytes: input.nodeMemoryBytes,
    nodeCpuCount: input.nodeCpuCount,
    targetId: input.targetId,
  });
  return {
    metadata: { name: container.name, attempt: input.attempt },
    image: { image: input.image.id || (container.image ?? ''), userSpecifiedImage: container.image ?? '' },
    ...commandLine(container, environment),
    workingDir: container.workingDir ?? '',
    envs: [...environment].map(([key, value]) => ({ key, value: Buffer.from(value) })),
    mounts: input.mounts,
    labels: {
      [names.labelContainerName]: container.name,
      [names.labelPodName]: pod.metadata.name ?? '',
      [names.labelPodNamespace]: names.podNamespace(pod),
      [names.labelPodUid]: names.podUid(pod),
    },
    logPath: `${container.name}/${input.attempt}.log`,
    stdin: container.stdin === true,
    stdinOnce: container.stdinOnce === true,
    tty: container.tty === true,
    ...settings,
    ...stopSignal(container),
    annotations: {
      [names.annotationHash]: names.containerHash(container),
      [names.annotationRestartCount]: String(input.attempt),
      [names.annotationTerminationMessagePolicy]: container.terminationMessagePolicy ?? 'File',
      [names.annotationTerminationGracePeriod]: String(pod.spec.terminationGracePeriodSeconds ?? 30),
      ...(names.isRunToEnd(pod, container) ? { [names.annotationSimulatedRunSeconds]: '0' } : {}),
      ...settings.annotations,
    },
  };
}
