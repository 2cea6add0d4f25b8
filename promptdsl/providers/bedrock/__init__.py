"""AWS Bedrock Converse, both ways: the rules of botocore's service model and of the refusals.

Attachments go out as raw bytes, which boto3 encodes. The law: ``write(read(write(m))) ==
write(m)``.
"""
