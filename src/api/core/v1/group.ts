// The kinds of the core group that add something to their data.
import type { GroupBehaviours } from '../../../apimachinery/kind-behaviour.ts';
import { pod } from './pod.ts';

export const coreV1: GroupBehaviours = {
  pods: pod,
};
