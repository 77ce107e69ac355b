// A pod that names its node goes nowhere else. Pure.
import { type Plugin, simpleFilter } from '../plugin.js';

export const nodeName: Plugin = {
  name: 'NodeName',
  wokenBy: ['node added'],
  filter({ spec }, { table }) {
    if (!spec.nodeName) return undefined;
    const wanted = table.slotOf(spec.nodeName);
    return simpleFilter((slot) => slot !== wanted, "node(s) didn't match the requested node name", {
      final: true,
    });
  },
  helps: ({ node }, { spec }) => node?.metadata.name === spec.nodeName,
};
