// The flags of `porthole agent` that are the kubelet's own, each checked where it is given: an agent that can't read one would end again and again.
import { type Command, InvalidArgumentError } from 'commander';
import { parseReservation } from '../kubelet/resources/node-reservation.ts';

function pids(text: string): number {
  const number = text === '' ? Number.NaN : Number(text);
  if (!Number.isInteger(number) || number < -1 || number === 0)
    throw new InvalidArgumentError('a count, or -1 for no limit.');
  return number;
}

function reservation(text: string): string {
  try {
    parseReservation(text);
  } catch (error) {
    throw new InvalidArgumentError(`${(error as Error).message}.`);
  }
  return text;
}

export const withKubelet = (command: Command): Command =>
  command
    .option('--pod-max-pids <count>', 'processes and threads of one pod; -1 is no limit', pids, 4096)
    .option(
      '--kube-reserved <list>',
      'kept from pods: cpu, memory, pid',
      reservation,
      'cpu=100m,memory=256Mi',
    )
    .option('--system-reserved <list>', 'kept from pods, too: cpu, memory, pid', reservation, '');
