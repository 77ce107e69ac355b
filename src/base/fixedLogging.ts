// The fields of a configuration file's `logging` with only one supported behaviour, and the values that describe it. Pure.
// Guarantees: nothing and zero are among them, which Kubernetes reads as "the default".

export const FIXED_LOGGING: Readonly<Record<string, readonly unknown[]>> = {
  'logging.flushFrequency': [0, '0s', '5s'],
  'logging.vmodule': [[]],
  'logging.options.json.infoBufferSize': ['0'],
  'logging.options.json.splitStream': [false],
  'logging.options.text.infoBufferSize': ['0'],
  'logging.options.text.splitStream': [false],
};
