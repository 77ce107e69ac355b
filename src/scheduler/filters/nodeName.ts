// A pod that names its node goes nowhere else. Pure.
import { type FilterPlugin, fits, rejects } from '../plugin.js';

export const nodeName: FilterPlugin = {
  name: 'NodeName',
  wokenBy: [],
  filter: (pod, node) =>
    !pod.spec.nodeName || pod.spec.nodeName === node.name
      ? fits
      : rejects("node(s) didn't match the requested node name"),
};
