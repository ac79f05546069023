// How autoscalers measure and wait: kube-controller-manager's options.
import { type Command, InvalidArgumentError, Option } from 'commander';
import { defaultAutoscaling } from './compose/server-components.ts';
import { durationOption } from './duration-option.ts';

export interface AutoscalerFlags {
  readonly concurrentHorizontalPodAutoscalerSyncs: number;
  readonly horizontalPodAutoscalerCpuInitializationPeriod: number;
  readonly horizontalPodAutoscalerDownscaleStabilization: number;
  readonly horizontalPodAutoscalerInitialReadinessDelay: number;
  readonly horizontalPodAutoscalerSyncPeriod: number;
  readonly horizontalPodAutoscalerTolerance: number;
}

function atLeast(text: string, least: number, isFine: (value: number) => boolean): number {
  const value = text.trim() === '' ? Number.NaN : Number(text);
  if (!(value >= least) || !isFine(value)) throw new InvalidArgumentError(`not a number of ${least} or more`);
  return value;
}

export const withAutoscalers = (command: Command): Command => {
  const usual = defaultAutoscaling;
  const options = [
    new Option('--concurrent-horizontal-pod-autoscaler-syncs <n>', 'autoscalers that are looked at together')
      .argParser((text) => atLeast(text, 1, Number.isSafeInteger))
      .default(usual.concurrency),
    durationOption(
      'horizontal-pod-autoscaler-cpu-initialization-period',
      'how long after its start the processors that a pod uses count only while it is ready',
      usual.cpuInitializationMs,
    ),
    durationOption(
      'horizontal-pod-autoscaler-downscale-stabilization',
      'how long the highest recommendation holds, where a behavior does not say it',
      usual.downscaleStabilizationMs,
    ),
    durationOption(
      'horizontal-pod-autoscaler-initial-readiness-delay',
      'how long after its start a pod that is not ready counts as one that never was',
      usual.initialReadinessMs,
    ),
    durationOption(
      'horizontal-pod-autoscaler-sync-period',
      'how often each autoscaler is looked at',
      usual.syncMs,
    ),
    new Option(
      '--horizontal-pod-autoscaler-tolerance <n>',
      'how far from its target a metric changes nothing',
    )
      .argParser((text) => atLeast(text, 0, Number.isFinite))
      .default(usual.tolerance),
  ];
  return options.reduce((all, option) => all.addOption(option), command);
};

export const autoscalingOf = (flags: AutoscalerFlags): typeof defaultAutoscaling => ({
  concurrency: flags.concurrentHorizontalPodAutoscalerSyncs,
  cpuInitializationMs: flags.horizontalPodAutoscalerCpuInitializationPeriod,
  downscaleStabilizationMs: flags.horizontalPodAutoscalerDownscaleStabilization,
  initialReadinessMs: flags.horizontalPodAutoscalerInitialReadinessDelay,
  syncMs: flags.horizontalPodAutoscalerSyncPeriod,
  tolerance: flags.horizontalPodAutoscalerTolerance,
});
