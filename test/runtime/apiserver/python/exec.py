# Runs a command in a container through Python's stock client, and writes what became of it as JSON.
import json
import sys

from kubernetes import client, config
from kubernetes.stream import stream

kubeconfig, pod, container = sys.argv[1:]
config.load_kube_config(kubeconfig)
script = "read line; echo heard: $line; echo err >&2; exit 5"
session = stream(
    client.CoreV1Api().connect_get_namespaced_pod_exec,
    pod,
    "default",
    container=container,
    command=["sh", "-c", script],
    stdin=True,
    stdout=True,
    stderr=True,
    tty=False,
    _preload_content=False,
)
session.write_stdin("hello\n")
session.run_forever(timeout=40)
said = {"stdout": session.read_stdout(), "stderr": session.read_stderr(), "code": session.returncode}
print(json.dumps(said))
