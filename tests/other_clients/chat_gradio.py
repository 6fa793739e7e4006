"""Gradio's chat for any server of OpenAI's API, on the port that is named."""

import os
import sys

import gradio

gradio.load_chat(
    f"{os.environ['AGENTPOST_URL']}/openai/v1",
    model="agentpost",
    token=os.environ["AGENTPOST_KEY"],
    streaming=True,
).launch(server_port=int(sys.argv[1]))
