// One of those behind a Service that runs.
import { serviceUnavailable } from '../../apimachinery/errors.ts';

/** Why whoever asks for pods of simulated nodes is refused. */
export const nobodyAnswers = 'where nothing runs and nobody answers';

/** Who may be behind a Service, and on which node; '' is none that is known. */
export interface Candidate {
  readonly host: string;
  readonly port: number;
  readonly nodeName: string;
}

/**
 * The address of a simulated pod leads nowhere, or to whoever has it in the network outside: who asked there would hear of
 * a foreign certificate, or hand its credentials to a stranger. Throws StatusError.
 */
export function runningEndpoint(
  found: readonly Candidate[],
  service: string,
  pick: (below: number) => number,
  isSimulated: (nodeName: string) => boolean,
): Candidate {
  const named = JSON.stringify(service);
  if (found.length === 0) throw serviceUnavailable(`no endpoints available for service ${named}`);
  const runs = ({ nodeName }: Candidate): boolean => nodeName === '' || !isSimulated(nodeName);
  const first = found[pick(found.length)]!;
  if (runs(first)) return first;
  const running = found.filter(runs);
  if (running.length === 0)
    throw serviceUnavailable(
      `no endpoints that run for service ${named}: its pods are on simulated nodes, ${nobodyAnswers}`,
    );
  return running[pick(running.length)]!;
}
