// NodeName: a pod that names its node in the spec passes only there.
import type { Plugin } from '../framework/plugin.ts';
import { unresolvable } from '../framework/status.ts';

export const nodeName: Plugin = {
  name: 'NodeName',
  requeueOn: [
    {
      on: ['NodeAdd'],
      helps: (pod, { node }) => node === undefined || pod.spec.nodeName === node.metadata.name,
    },
  ],
  filter: (_state, pod, node) => {
    const wanted = pod.spec.nodeName;
    return wanted === undefined || wanted === '' || wanted === node.name
      ? undefined
      : unresolvable("node(s) didn't match the requested node name");
  },
};
