// The shape of multus' NetworkAttachmentDefinition: one text, and whatever else there is.
// Guarantees: nothing is required and nothing is pruned below spec.
import { type CustomShape, object, text } from './shape.js';

export const networkAttachment: CustomShape = {
  group: 'cni.example.com',
  plural: 'network-attachment-definitions',
  kind: 'NetworkAttachmentDefinition',
  scope: 'Namespaced',
  schema: object(
    {
      apiVersion: text('Of this object.'),
      kind: text('Of this object.'),
      metadata: { type: 'object' },
      spec: object(
        { config: text('A CNI configuration in JSON; without it one of the node by the same name.') },
        { 'x-kubernetes-preserve-unknown-fields': true },
      ),
    },
    { description: 'A network that pods may have besides their own.' },
  ),
  good: { spec: { config: '{"cniVersion":"0.3.1","type":"bridge"}', vendor: { of: ['anything', 1, null] } } },
  refused: [
    {
      spec: { config: { type: 'bridge' } },
      words: 'spec.config: Invalid value: "object": spec.config in body must be of type string: "object"',
    },
  ],
  explained: ['spec.config', 'one of the node by the same name'],
};
